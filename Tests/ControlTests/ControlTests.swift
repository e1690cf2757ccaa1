import Testing

@testable import Control

@Suite struct ControlTests {}
