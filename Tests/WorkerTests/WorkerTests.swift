import Testing

@testable import Worker

@Suite struct WorkerTests {}
