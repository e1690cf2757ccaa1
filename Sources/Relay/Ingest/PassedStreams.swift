import Container

extension TransportStreamLayout.PassedStream {
    /// A stream of the input, described as it was there.
    init(describing stream: ElementaryStreamDescription) {
        let id: UInt8 =
            if stream.streamType == 0x06 || stream.codec == .ac3 || stream.codec == .eac3 { 0xbd } else {
                stream.codec.isVideo ? 0xe1 : 0xc0
            }
        self.init(
            streamType: stream.streamType, descriptors: stream.descriptors, streamID: id,
            pid: stream.id >= 0x20 ? UInt16(truncatingIfNeeded: stream.id) : nil)
    }
}

extension TransportStreamLayout {
    /// Streams that were there before, in the same place, keep the packet identifiers that they had.
    mutating func keepIdentifiers(of former: TransportStreamLayout) {
        for (index, before) in former.passedStreams.prefix(passedStreams.count).enumerated() {
            var same = passedStreams[index]
            same.pid = before.pid
            if same == before { passedStreams[index] = same }
        }
    }
}
