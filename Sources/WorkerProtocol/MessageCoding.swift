import FoundationEssentials

/// What both ends agree on: limits, and JSON in both directions.
public enum MessageCoding {
    /// The version of the protocol. Raise it with every change that the other end must know.
    public static let version = 11
    /// The most bytes that a message may have.
    public static let largestMessage = 1 << 16
    /// The most descriptors that may go with a message.
    public static let mostDescriptors = 32

    /// - Throws: when the message has more than ``largestMessage`` bytes.
    public static func encode(_ message: some ChannelMessage) throws(MessageFault) -> [UInt8] {
        let encoder = JSONEncoder()
        // In one order, so that tests can compare messages as text.
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let data: Data
        do {
            data = try encoder.encode(message)
        } catch {
            throw MessageFault("a message cannot be written as JSON: \(error)")
        }
        guard data.count <= largestMessage else {
            throw MessageFault("a message has \(data.count) bytes, and may have \(largestMessage)")
        }
        return Array(data)
    }

    /// Reads a message from bytes that the other end may have chosen freely.
    public static func decode<Message: ChannelMessage>(
        _ type: Message.Type, from bytes: some Sequence<UInt8>
    ) throws(MessageFault) -> Message {
        do {
            return try JSONDecoder().decode(type, from: Data(bytes))
        } catch {
            throw MessageFault("a message cannot be read: it is no \(type) of protocol version \(version)")
        }
    }

    /// Why the two ends cannot work together; nil where they can.
    /// - Parameter other: the version that the other end said in its `hello`.
    public static func fault(ofVersion other: Int) -> String? {
        if other == version { return nil }
        return "the other end speaks version \(other) of the worker protocol and this one version \(version): "
            + "install burnish and burnishd of the same release"
    }
}

/// What goes over a ``MessageChannel``.
public protocol ChannelMessage: Codable, Hashable, Sendable {
    /// Whether the stream goes on as it should without this message. When the other end does not read, such a message is
    /// dropped and counted. Any other message then closes the channel.
    var isExpendable: Bool { get }
}

/// Why something is no message.
public struct MessageFault: Error, Hashable, Sendable, CustomStringConvertible {
    /// One sentence, without anything that the message holds: that may be secret.
    public var description: String

    public init(_ description: String) { self.description = description }
}
