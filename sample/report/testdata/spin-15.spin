Date/Time:        2025-04-02 08:00:00.100 +0000
End time:         2025-04-02 08:00:10.200 +0000
OS Version:       macOS 15.4 (Build 24E248)
Architecture:     arm64e
Report Version:   60

Data Source:      Stackshots

Command:          Sheets
Path:             /Applications/Sheets.app/Contents/MacOS/Sheets
Identifier:       com.example.sheets
Version:          16.0 (1600)
Parent:           launchd [1]
PID:              612

Event:            force quit
Duration:         28.00s
Steps:            101 (100ms sampling interval)
