import Media

extension StreamURL {
    /// Why one of the outputs cannot take what the pictures are to be encoded as; nil where all can. Keys stand between backticks.
    public static func fault(of codec: OutputCodec, in outputs: [StreamURL]) -> (place: String, text: String)? {
        guard codec != .h264 else { return nil }
        for output in outputs {
            switch output {
            case .call(let endpoint):
                return ("whep:\(endpoint.name)", "viewers of calls take H.264: leave out `codec`")
            case .sdp: return ("plain RTP", "it is sent with H.264 only: leave out `codec`, or send MPEG-TS to rtp://HOST:PORT")
            case .srt, .rtp, .udp, .file, .standardStream: break
            }
        }
        return nil
    }
}
