import Media

extension RTPReceiveSession {
    /// Decides about a packet of a picture that is sent in several sizes.
    /// - Returns: whether it is received; nil where it is of no layer.
    mutating func follow(
        _ receiver: RTPTrackReceiver, _ packet: RTPPacket, _ bytes: Span<UInt8>, _ format: Int, _ isRepeat: Bool,
        _ arrival: MonotonicTime
    ) -> Bool? {
        var size: PictureSize?
        if !isRepeat, let read = configuration.pictureSize {
            size = read(receiver.track.formats[format].codec, bytes.extracting(packet.payload))
        }
        let verdict = receiver.layers!.judge(
            packet, bytes, isRepeat: isRepeat, size: size, at: arrival, relayedClock: receiver.clock)
        switch verdict {
        case .unknown: return nil
        case .relayed: break
        case .leftOut:
            recordArrival(packet, arrival)
            receiver.hear(at: arrival)
            leftOut += 1
            return false
        case .begins:
            if receiver.source == nil {
                begin(receiver, packet, arrival)
            } else {
                receiver.change(to: receiver.layers!.present!, packet, at: arrival)
                if !receiver.hasDelivered { alignment.begin(receiver, timestamp: packet.timestamp, at: arrival) }
            }
        }
        return receiver.source != nil
    }
}
