package swiftnames

import "tachograph/sample/darwin/sys"

const there = true

func system(mangled string) string { return sys.SwiftName(mangled) }
