import Testing

@testable import Web

@Suite struct WebTests {}
