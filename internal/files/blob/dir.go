package blob

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// A dirStorage is the path of a directory in which blobs are stored. Each blob is a file, with its
// attributes in another file beside it. The directory is opened for each call, so that it may be
// unmounted and mounted again.
type dirStorage string

// attributesSuffix is the end of the names of files that contain attributes.
const attributesSuffix = ".attrs"

// storedAttributes is the JSON form of attributes in a file. The names are those of gocloud.dev, so
// that directories written by gocloud.dev remain readable.
type storedAttributes struct {
	Type     string            `json:"user.content_type"`
	Metadata map[string]string `json:"user.metadata"`
}

// OpenDir returns a storage in the directory at path, which it creates if it does not exist. It
// returns an error if it cannot create or open the directory. If the directory is deleted later,
// the storage does not create it again, because it could be on a disk that was unmounted. Files are
// created with mode 0600, and a new directory with mode 0700. Symbolic links that lead out of the
// directory are not followed.
func OpenDir(path string) (Storage, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return dirStorage(path), root.Close()
}

// withRoot opens the directory, calls do with it and returns the error from do. If the directory
// cannot be opened, the error does not wrap fs.ErrNotExist, which would mean that a blob does not
// exist.
func (d dirStorage) withRoot(do func(*os.Root) error) error {
	root, err := os.OpenRoot(string(d))
	if err != nil {
		return fmt.Errorf("the directory cannot be opened: %v", err)
	}
	defer root.Close()
	return do(root)
}

func (d dirStorage) Put(ctx context.Context, path string, data []byte, a Attributes) error {
	attributes, err := json.Marshal(storedAttributes{a.Type, a.Metadata})
	if err = errors.Join(err, ctx.Err()); err != nil {
		return err
	}
	return d.withRoot(func(root *os.Root) error {
		err := writeFile(root, path+attributesSuffix, attributes)
		if err == nil {
			err = writeFile(root, path, data)
		}
		if err != nil {
			_ = root.Remove(path + attributesSuffix)
		}
		return err
	})
}

// writeFile writes data to the file with the given name in root. It does so atomically: it writes a
// temporary file and renames it. After an error, an existing file with that name is unchanged.
func writeFile(root *os.Root, name string, data []byte) error {
	temporary := temporaryName()
	err := root.WriteFile(temporary, data, 0o600)
	if err == nil {
		err = root.Rename(temporary, name)
	}
	if err != nil {
		_ = root.Remove(temporary)
	}
	return err
}

// temporaryName returns a random file name, different from those of all blobs and of all other
// temporary files.
func temporaryName() string { return "tmp-" + rand.Text() }

func (d dirStorage) Stat(_ context.Context, path string) (a Attributes, err error) {
	err = d.withRoot(func(root *os.Root) error {
		a, err = readAttributes(root, path)
		return err
	})
	return a, err
}

// readAttributes returns the attributes of the blob at path. If there is no file with its
// attributes, because the blob was not written by Put, only the size is set. The error wraps
// fs.ErrNotExist if there is no blob at path.
func readAttributes(root *os.Root, path string) (Attributes, error) {
	info, err := root.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err != nil {
		return Attributes{}, err
	}
	text, err := root.ReadFile(path + attributesSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return Attributes{Size: info.Size()}, nil
	}
	var stored storedAttributes
	if err == nil {
		err = json.Unmarshal(text, &stored)
	}
	return Attributes{stored.Type, info.Size(), stored.Metadata}, err
}

func (d dirStorage) Open(_ context.Context, path string) (content io.ReadSeekCloser, a Attributes, err error) {
	err = d.withRoot(func(root *os.Root) error {
		if a, err = readAttributes(root, path); err == nil {
			content, err = root.Open(path)
		}
		return err
	})
	return content, a, err
}

func (d dirStorage) Ping(context.Context) error {
	return d.withRoot(func(root *os.Root) error {
		name := temporaryName() // other processes may call Ping at the same time
		return errors.Join(root.WriteFile(name, make([]byte, ProbeSize), 0o600), root.Remove(name))
	})
}
