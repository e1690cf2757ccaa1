import Testing

@testable import Settings

@Suite struct SettingsTests {}
