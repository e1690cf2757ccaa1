import Testing

@testable import WorkerProtocol

@Suite struct WorkerProtocolTests {}
