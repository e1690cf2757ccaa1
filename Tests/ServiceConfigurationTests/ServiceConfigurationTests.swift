import Testing

@testable import ServiceConfiguration

@Suite struct ServiceConfigurationTests {}
