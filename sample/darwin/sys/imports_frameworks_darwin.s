#include "textflag.h"

TEXT libc_IOServiceMatching_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_IOServiceMatching(SB)
GLOBL	·addr_IOServiceMatching(SB), RODATA, $8
DATA	·addr_IOServiceMatching(SB)/8, $libc_IOServiceMatching_trampoline<>(SB)

TEXT libc_IOServiceGetMatchingServices_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_IOServiceGetMatchingServices(SB)
GLOBL	·addr_IOServiceGetMatchingServices(SB), RODATA, $8
DATA	·addr_IOServiceGetMatchingServices(SB)/8, $libc_IOServiceGetMatchingServices_trampoline<>(SB)

TEXT libc_IOIteratorNext_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_IOIteratorNext(SB)
GLOBL	·addr_IOIteratorNext(SB), RODATA, $8
DATA	·addr_IOIteratorNext(SB)/8, $libc_IOIteratorNext_trampoline<>(SB)

TEXT libc_IOObjectRelease_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_IOObjectRelease(SB)
GLOBL	·addr_IOObjectRelease(SB), RODATA, $8
DATA	·addr_IOObjectRelease(SB)/8, $libc_IOObjectRelease_trampoline<>(SB)

TEXT libc_IOObjectConformsTo_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_IOObjectConformsTo(SB)
GLOBL	·addr_IOObjectConformsTo(SB), RODATA, $8
DATA	·addr_IOObjectConformsTo(SB)/8, $libc_IOObjectConformsTo_trampoline<>(SB)

TEXT libc_IORegistryEntryGetRegistryEntryID_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_IORegistryEntryGetRegistryEntryID(SB)
GLOBL	·addr_IORegistryEntryGetRegistryEntryID(SB), RODATA, $8
DATA	·addr_IORegistryEntryGetRegistryEntryID(SB)/8, $libc_IORegistryEntryGetRegistryEntryID_trampoline<>(SB)

TEXT libc_IORegistryEntryGetChildIterator_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_IORegistryEntryGetChildIterator(SB)
GLOBL	·addr_IORegistryEntryGetChildIterator(SB), RODATA, $8
DATA	·addr_IORegistryEntryGetChildIterator(SB)/8, $libc_IORegistryEntryGetChildIterator_trampoline<>(SB)

TEXT libc_IORegistryEntryGetName_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_IORegistryEntryGetName(SB)
GLOBL	·addr_IORegistryEntryGetName(SB), RODATA, $8
DATA	·addr_IORegistryEntryGetName(SB)/8, $libc_IORegistryEntryGetName_trampoline<>(SB)

TEXT libc_IORegistryEntryCreateCFProperty_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_IORegistryEntryCreateCFProperty(SB)
GLOBL	·addr_IORegistryEntryCreateCFProperty(SB), RODATA, $8
DATA	·addr_IORegistryEntryCreateCFProperty(SB)/8, $libc_IORegistryEntryCreateCFProperty_trampoline<>(SB)

TEXT libc_IORegistryEntrySearchCFProperty_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_IORegistryEntrySearchCFProperty(SB)
GLOBL	·addr_IORegistryEntrySearchCFProperty(SB), RODATA, $8
DATA	·addr_IORegistryEntrySearchCFProperty(SB)/8, $libc_IORegistryEntrySearchCFProperty_trampoline<>(SB)

TEXT libc_IOServiceOpen_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_IOServiceOpen(SB)
GLOBL	·addr_IOServiceOpen(SB), RODATA, $8
DATA	·addr_IOServiceOpen(SB)/8, $libc_IOServiceOpen_trampoline<>(SB)

TEXT libc_IOServiceClose_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_IOServiceClose(SB)
GLOBL	·addr_IOServiceClose(SB), RODATA, $8
DATA	·addr_IOServiceClose(SB)/8, $libc_IOServiceClose_trampoline<>(SB)

TEXT libc_IOConnectCallStructMethod_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_IOConnectCallStructMethod(SB)
GLOBL	·addr_IOConnectCallStructMethod(SB), RODATA, $8
DATA	·addr_IOConnectCallStructMethod(SB)/8, $libc_IOConnectCallStructMethod_trampoline<>(SB)

TEXT libc_IOPSCopyPowerSourcesInfo_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_IOPSCopyPowerSourcesInfo(SB)
GLOBL	·addr_IOPSCopyPowerSourcesInfo(SB), RODATA, $8
DATA	·addr_IOPSCopyPowerSourcesInfo(SB)/8, $libc_IOPSCopyPowerSourcesInfo_trampoline<>(SB)

TEXT libc_IOPSCopyPowerSourcesList_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_IOPSCopyPowerSourcesList(SB)
GLOBL	·addr_IOPSCopyPowerSourcesList(SB), RODATA, $8
DATA	·addr_IOPSCopyPowerSourcesList(SB)/8, $libc_IOPSCopyPowerSourcesList_trampoline<>(SB)

TEXT libc_IOPSGetPowerSourceDescription_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_IOPSGetPowerSourceDescription(SB)
GLOBL	·addr_IOPSGetPowerSourceDescription(SB), RODATA, $8
DATA	·addr_IOPSGetPowerSourceDescription(SB)/8, $libc_IOPSGetPowerSourceDescription_trampoline<>(SB)

TEXT libc_IOPSGetProvidingPowerSourceType_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_IOPSGetProvidingPowerSourceType(SB)
GLOBL	·addr_IOPSGetProvidingPowerSourceType(SB), RODATA, $8
DATA	·addr_IOPSGetProvidingPowerSourceType(SB)/8, $libc_IOPSGetProvidingPowerSourceType_trampoline<>(SB)

TEXT libc_CFRelease_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_CFRelease(SB)
GLOBL	·addr_CFRelease(SB), RODATA, $8
DATA	·addr_CFRelease(SB)/8, $libc_CFRelease_trampoline<>(SB)

TEXT libc_CFGetTypeID_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_CFGetTypeID(SB)
GLOBL	·addr_CFGetTypeID(SB), RODATA, $8
DATA	·addr_CFGetTypeID(SB)/8, $libc_CFGetTypeID_trampoline<>(SB)

TEXT libc_CFStringCreateWithCString_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_CFStringCreateWithCString(SB)
GLOBL	·addr_CFStringCreateWithCString(SB), RODATA, $8
DATA	·addr_CFStringCreateWithCString(SB)/8, $libc_CFStringCreateWithCString_trampoline<>(SB)

TEXT libc_CFStringGetTypeID_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_CFStringGetTypeID(SB)
GLOBL	·addr_CFStringGetTypeID(SB), RODATA, $8
DATA	·addr_CFStringGetTypeID(SB)/8, $libc_CFStringGetTypeID_trampoline<>(SB)

TEXT libc_CFStringGetCString_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_CFStringGetCString(SB)
GLOBL	·addr_CFStringGetCString(SB), RODATA, $8
DATA	·addr_CFStringGetCString(SB)/8, $libc_CFStringGetCString_trampoline<>(SB)

TEXT libc_CFNumberGetTypeID_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_CFNumberGetTypeID(SB)
GLOBL	·addr_CFNumberGetTypeID(SB), RODATA, $8
DATA	·addr_CFNumberGetTypeID(SB)/8, $libc_CFNumberGetTypeID_trampoline<>(SB)

TEXT libc_CFNumberGetValue_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_CFNumberGetValue(SB)
GLOBL	·addr_CFNumberGetValue(SB), RODATA, $8
DATA	·addr_CFNumberGetValue(SB)/8, $libc_CFNumberGetValue_trampoline<>(SB)

TEXT libc_CFBooleanGetTypeID_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_CFBooleanGetTypeID(SB)
GLOBL	·addr_CFBooleanGetTypeID(SB), RODATA, $8
DATA	·addr_CFBooleanGetTypeID(SB)/8, $libc_CFBooleanGetTypeID_trampoline<>(SB)

TEXT libc_CFBooleanGetValue_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_CFBooleanGetValue(SB)
GLOBL	·addr_CFBooleanGetValue(SB), RODATA, $8
DATA	·addr_CFBooleanGetValue(SB)/8, $libc_CFBooleanGetValue_trampoline<>(SB)

TEXT libc_CFDataGetTypeID_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_CFDataGetTypeID(SB)
GLOBL	·addr_CFDataGetTypeID(SB), RODATA, $8
DATA	·addr_CFDataGetTypeID(SB)/8, $libc_CFDataGetTypeID_trampoline<>(SB)

TEXT libc_CFDataGetLength_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_CFDataGetLength(SB)
GLOBL	·addr_CFDataGetLength(SB), RODATA, $8
DATA	·addr_CFDataGetLength(SB)/8, $libc_CFDataGetLength_trampoline<>(SB)

TEXT libc_CFDataGetBytePtr_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_CFDataGetBytePtr(SB)
GLOBL	·addr_CFDataGetBytePtr(SB), RODATA, $8
DATA	·addr_CFDataGetBytePtr(SB)/8, $libc_CFDataGetBytePtr_trampoline<>(SB)

TEXT libc_CFDictionaryGetTypeID_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_CFDictionaryGetTypeID(SB)
GLOBL	·addr_CFDictionaryGetTypeID(SB), RODATA, $8
DATA	·addr_CFDictionaryGetTypeID(SB)/8, $libc_CFDictionaryGetTypeID_trampoline<>(SB)

TEXT libc_CFDictionaryGetValue_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_CFDictionaryGetValue(SB)
GLOBL	·addr_CFDictionaryGetValue(SB), RODATA, $8
DATA	·addr_CFDictionaryGetValue(SB)/8, $libc_CFDictionaryGetValue_trampoline<>(SB)

TEXT libc_CFArrayGetCount_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_CFArrayGetCount(SB)
GLOBL	·addr_CFArrayGetCount(SB), RODATA, $8
DATA	·addr_CFArrayGetCount(SB)/8, $libc_CFArrayGetCount_trampoline<>(SB)

TEXT libc_CFArrayGetValueAtIndex_trampoline<>(SB),NOSPLIT,$0-0
	JMP	libc_CFArrayGetValueAtIndex(SB)
GLOBL	·addr_CFArrayGetValueAtIndex(SB), RODATA, $8
DATA	·addr_CFArrayGetValueAtIndex(SB)/8, $libc_CFArrayGetValueAtIndex_trampoline<>(SB)
