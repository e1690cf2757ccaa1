import Bitstream

/// The parameter sets of an H.264 or HEVC keyframe as one piece of bytes: an MP4 file describes its pictures by the first that it has.
enum ParameterSetBytes {
    /// - Parameter unit: an access unit with start codes.
    /// - Returns: empty for other formats, and where there are none.
    static func of(_ unit: [UInt8], _ codec: VideoCodec?) -> [UInt8] {
        guard codec == .h264 || codec == .hevc else { return [] }
        var found: [UInt8] = []
        var place = 0
        /// Where the parameter set lies that is being read.
        var begin: Int?
        while place + 3 < unit.count {
            guard unit[place] == 0, unit[place + 1] == 0, unit[place + 2] == 1 else {
                place += 1
                continue
            }
            if let begin { found += unit[begin..<place] }
            begin = nil
            let header = unit[place + 3]
            let kind = codec == .h264 ? Int(header & 0x1f) : Int(header >> 1 & 0x3f)
            // Pictures follow the sets.
            if codec == .h264 ? (1...5).contains(kind) : kind < 32 { return found }
            let isSet = codec == .h264 ? kind == 7 || kind == 8 : (32...34).contains(kind)
            if isSet { begin = place }
            place += 3
        }
        return found
    }
}
