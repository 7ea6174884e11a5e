package script
import ("testing";"strings";"time";"fmt")
func TestZZ(t *testing.T){
 n:=1<<20
 for name,s:=range map[string]string{
  "anchors": "a: "+strings.Repeat("&a ",n/3-10),
  "tags": "a: "+strings.Repeat("!a ",n/3-10),
  "questions": strings.Repeat("? ",n/2-10),
  "colons": strings.Repeat("a: ",n/3-10),
  "dashes lines": strings.Repeat("- a\n",n/4-10),
  "dash comment": strings.Repeat("-\n",n/2-10),
  "comments": strings.Repeat("#a\n",n/3-10),
  "docs": strings.Repeat("---\n",n/4-10),
  "keys": func() string {var b strings.Builder; for i:=0;b.Len()<n-20;i++{fmt.Fprintf(&b,"k%d: v\n",i)}; return b.String()}(),
  "same keys": strings.Repeat("a: b\n",n/5-10),
  "flow": "["+strings.Repeat("a,",n/2-10)+"]",
  "flow maps": "["+strings.Repeat("{a: b},",n/7-10)+"]",
  "literal": "a: |\n"+strings.Repeat("  x\n",n/4-10),
  "folded": "a: >\n"+strings.Repeat("  x\n",n/4-10),
  "plain": "a: "+strings.Repeat("x\n  ",n/4-10),
  "quoted": "a: \""+strings.Repeat("\\n",n/2-10)+"\"",
  "single": "a: '"+strings.Repeat("x\n ",n/3-10)+"'",
  "aliases": "a: &a x\nb: ["+strings.Repeat("*a,",n/3-10)+"]",
  "brackets pairs": strings.Repeat("[]",n/2-10),
  "quotes": strings.Repeat("\"\" ",n/3-10),
  "percent": strings.Repeat("%\n",n/2-10),
  "nested seq": func() string {var b strings.Builder; for i:=0;b.Len()<n-2000;i++{b.WriteString(strings.Repeat(" ",i)+"- \n")}; return b.String()}(),
  "rules": "rules:\n"+strings.Repeat("- reply: hi {{.Text}}\n",10000),
  "templates": "rules:\n- reply: '"+strings.Repeat("{{if .Text}}a{{end}}",n/20-10)+"'\n",
  "deep templates": "rules:\n- reply: '"+strings.Repeat("{{if .Text}}",n/20-10)+"'\n",
  "deep parens": "rules:\n- reply: '{{"+strings.Repeat("(",n-100)+"'\n",
  "deep parens closed": "rules:\n- reply: '{{"+strings.Repeat("(",n/2-100)+"1"+strings.Repeat(")",n/2-100)+"}}'\n",
  "deep ifs": "rules:\n- reply: '"+strings.Repeat("{{if 1}}",n/16-100)+"1"+strings.Repeat("{{end}}",n/16-100)+"'\n",
  "regexps": "rules:\n- when: {text: {matches: '"+strings.Repeat("(a*)*",n/5-100)+"'}}\n  reply: a\n",
  "bigregexp": "rules:\n- when: {text: {matches: '"+strings.Repeat("a{1000}",n/7-100)+"'}}\n  reply: a\n",
 }{
  t0:=time.Now(); _,p:=Load([]Source{{"s",[]byte(s)}},served(t)); 
  if d:=time.Since(t0); d>300*time.Millisecond { t.Logf("%s %d %v %d %.200v",name,len(s),d,len(p),append(p,Problem{})[0]) }
 }
}
