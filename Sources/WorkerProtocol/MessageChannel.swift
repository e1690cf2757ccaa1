/// One end of the socket pair between supervisor and worker (`SOCK_SEQPACKET`: one packet, one message).
public enum MessageChannel {
    /// Of this protocol. Raised with every change that the other side must know.
    public static let version = 1
    public static let largestMessage = 1 << 16
    public static let mostDescriptors = 16
}
