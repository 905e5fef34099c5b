// The imports from IOKit and CoreFoundation, in the same three pieces as libSystem's.
package sys

//go:cgo_import_dynamic libc_IOServiceMatching IOServiceMatching "/System/Library/Frameworks/IOKit.framework/Versions/A/IOKit"
//go:cgo_import_dynamic libc_IOServiceGetMatchingServices IOServiceGetMatchingServices "/System/Library/Frameworks/IOKit.framework/Versions/A/IOKit"
//go:cgo_import_dynamic libc_IOIteratorNext IOIteratorNext "/System/Library/Frameworks/IOKit.framework/Versions/A/IOKit"
//go:cgo_import_dynamic libc_IOObjectRelease IOObjectRelease "/System/Library/Frameworks/IOKit.framework/Versions/A/IOKit"
//go:cgo_import_dynamic libc_IOObjectConformsTo IOObjectConformsTo "/System/Library/Frameworks/IOKit.framework/Versions/A/IOKit"
//go:cgo_import_dynamic libc_IORegistryEntryGetRegistryEntryID IORegistryEntryGetRegistryEntryID "/System/Library/Frameworks/IOKit.framework/Versions/A/IOKit"
//go:cgo_import_dynamic libc_IORegistryEntryGetChildIterator IORegistryEntryGetChildIterator "/System/Library/Frameworks/IOKit.framework/Versions/A/IOKit"
//go:cgo_import_dynamic libc_IORegistryEntryGetName IORegistryEntryGetName "/System/Library/Frameworks/IOKit.framework/Versions/A/IOKit"
//go:cgo_import_dynamic libc_IORegistryEntryCreateCFProperty IORegistryEntryCreateCFProperty "/System/Library/Frameworks/IOKit.framework/Versions/A/IOKit"
//go:cgo_import_dynamic libc_IORegistryEntrySearchCFProperty IORegistryEntrySearchCFProperty "/System/Library/Frameworks/IOKit.framework/Versions/A/IOKit"
//go:cgo_import_dynamic libc_IOServiceOpen IOServiceOpen "/System/Library/Frameworks/IOKit.framework/Versions/A/IOKit"
//go:cgo_import_dynamic libc_IOServiceClose IOServiceClose "/System/Library/Frameworks/IOKit.framework/Versions/A/IOKit"
//go:cgo_import_dynamic libc_IOConnectCallStructMethod IOConnectCallStructMethod "/System/Library/Frameworks/IOKit.framework/Versions/A/IOKit"
//go:cgo_import_dynamic libc_IOPSCopyPowerSourcesInfo IOPSCopyPowerSourcesInfo "/System/Library/Frameworks/IOKit.framework/Versions/A/IOKit"
//go:cgo_import_dynamic libc_IOPSCopyPowerSourcesList IOPSCopyPowerSourcesList "/System/Library/Frameworks/IOKit.framework/Versions/A/IOKit"
//go:cgo_import_dynamic libc_IOPSGetPowerSourceDescription IOPSGetPowerSourceDescription "/System/Library/Frameworks/IOKit.framework/Versions/A/IOKit"
//go:cgo_import_dynamic libc_IOPSGetProvidingPowerSourceType IOPSGetProvidingPowerSourceType "/System/Library/Frameworks/IOKit.framework/Versions/A/IOKit"
//go:cgo_import_dynamic libc_CFRelease CFRelease "/System/Library/Frameworks/CoreFoundation.framework/Versions/A/CoreFoundation"
//go:cgo_import_dynamic libc_CFGetTypeID CFGetTypeID "/System/Library/Frameworks/CoreFoundation.framework/Versions/A/CoreFoundation"
//go:cgo_import_dynamic libc_CFStringCreateWithCString CFStringCreateWithCString "/System/Library/Frameworks/CoreFoundation.framework/Versions/A/CoreFoundation"
//go:cgo_import_dynamic libc_CFStringGetTypeID CFStringGetTypeID "/System/Library/Frameworks/CoreFoundation.framework/Versions/A/CoreFoundation"
//go:cgo_import_dynamic libc_CFStringGetCString CFStringGetCString "/System/Library/Frameworks/CoreFoundation.framework/Versions/A/CoreFoundation"
//go:cgo_import_dynamic libc_CFNumberGetTypeID CFNumberGetTypeID "/System/Library/Frameworks/CoreFoundation.framework/Versions/A/CoreFoundation"
//go:cgo_import_dynamic libc_CFNumberGetValue CFNumberGetValue "/System/Library/Frameworks/CoreFoundation.framework/Versions/A/CoreFoundation"
//go:cgo_import_dynamic libc_CFBooleanGetTypeID CFBooleanGetTypeID "/System/Library/Frameworks/CoreFoundation.framework/Versions/A/CoreFoundation"
//go:cgo_import_dynamic libc_CFBooleanGetValue CFBooleanGetValue "/System/Library/Frameworks/CoreFoundation.framework/Versions/A/CoreFoundation"
//go:cgo_import_dynamic libc_CFDataGetTypeID CFDataGetTypeID "/System/Library/Frameworks/CoreFoundation.framework/Versions/A/CoreFoundation"
//go:cgo_import_dynamic libc_CFDataGetLength CFDataGetLength "/System/Library/Frameworks/CoreFoundation.framework/Versions/A/CoreFoundation"
//go:cgo_import_dynamic libc_CFDataGetBytePtr CFDataGetBytePtr "/System/Library/Frameworks/CoreFoundation.framework/Versions/A/CoreFoundation"
//go:cgo_import_dynamic libc_CFDictionaryGetTypeID CFDictionaryGetTypeID "/System/Library/Frameworks/CoreFoundation.framework/Versions/A/CoreFoundation"
//go:cgo_import_dynamic libc_CFDictionaryGetValue CFDictionaryGetValue "/System/Library/Frameworks/CoreFoundation.framework/Versions/A/CoreFoundation"
//go:cgo_import_dynamic libc_CFArrayGetCount CFArrayGetCount "/System/Library/Frameworks/CoreFoundation.framework/Versions/A/CoreFoundation"
//go:cgo_import_dynamic libc_CFArrayGetValueAtIndex CFArrayGetValueAtIndex "/System/Library/Frameworks/CoreFoundation.framework/Versions/A/CoreFoundation"

var (
	addr_IOServiceMatching                 uintptr
	addr_IOServiceGetMatchingServices      uintptr
	addr_IOIteratorNext                    uintptr
	addr_IOObjectRelease                   uintptr
	addr_IOObjectConformsTo                uintptr
	addr_IORegistryEntryGetRegistryEntryID uintptr
	addr_IORegistryEntryGetChildIterator   uintptr
	addr_IORegistryEntryGetName            uintptr
	addr_IORegistryEntryCreateCFProperty   uintptr
	addr_IORegistryEntrySearchCFProperty   uintptr
	addr_IOServiceOpen                     uintptr
	addr_IOServiceClose                    uintptr
	addr_IOConnectCallStructMethod         uintptr
	addr_IOPSCopyPowerSourcesInfo          uintptr
	addr_IOPSCopyPowerSourcesList          uintptr
	addr_IOPSGetPowerSourceDescription     uintptr
	addr_IOPSGetProvidingPowerSourceType   uintptr
	addr_CFRelease                         uintptr
	addr_CFGetTypeID                       uintptr
	addr_CFStringCreateWithCString         uintptr
	addr_CFStringGetTypeID                 uintptr
	addr_CFStringGetCString                uintptr
	addr_CFNumberGetTypeID                 uintptr
	addr_CFNumberGetValue                  uintptr
	addr_CFBooleanGetTypeID                uintptr
	addr_CFBooleanGetValue                 uintptr
	addr_CFDataGetTypeID                   uintptr
	addr_CFDataGetLength                   uintptr
	addr_CFDataGetBytePtr                  uintptr
	addr_CFDictionaryGetTypeID             uintptr
	addr_CFDictionaryGetValue              uintptr
	addr_CFArrayGetCount                   uintptr
	addr_CFArrayGetValueAtIndex            uintptr
)
