import Foundation
import WorkerProtocol

/// The input is what the other process sends, a packet a line: over a socket, so that its way in is the real one.
func fuzzWorkerProtocol(_ input: UnsafeRawBufferPointer) {
    guard let (supervisor, child) = try? SupervisorChannel.pair() else { return }
    for line in input.split(separator: UInt8(ascii: "\n")) where !line.isEmpty {
        let bytes = Array(line)
        guard send(child.number, bytes, bytes.count, Int32(MSG_DONTWAIT)) == bytes.count else { continue }
        if case .message(let message, _) = supervisor.receive() { expectReadable(message) }
        // The same bytes in the other direction.
        if let message = try? MessageCoding.decode(SupervisorMessage.self, from: bytes) { expectReadable(message) }
    }
}

private func expectReadable<Message: ChannelMessage>(_ message: Message) {
    guard let bytes = try? MessageCoding.encode(message) else { return }
    precondition(
        (try? MessageCoding.decode(Message.self, from: bytes)) == message, "a message does not survive being written")
}
