extension VideoParameters {
    /// The profile as the standards name it; nil for one that is not known.
    public var profileName: String? {
        guard let profile else { return nil }
        switch codec {
        // ITU-T H.264, annex A.
        case .h264:
            switch profile & 0xFF {
            case 66: return profile & 0x100 != 0 ? "Constrained Baseline" : "Baseline"
            case 77: return "Main"
            case 88: return "Extended"
            case 100: return "High"
            case 110: return "High 10"
            case 122: return "High 4:2:2"
            case 244: return "High 4:4:4 Predictive"
            case 44: return "CAVLC 4:4:4 Intra"
            default: return nil
            }
        // ITU-T H.265, annex A.
        case .hevc: return Self.name(profile, ["Main", "Main 10", "Main Still Picture", "Range Extensions"], from: 1)
        // ITU-T H.262, table 8-2.
        case .mpeg2Video: return Self.name(profile, ["High", "Spatially Scalable", "SNR Scalable", "Main", "Simple"], from: 1)
        // AV1, annex A.
        case .av1: return Self.name(profile, ["Main", "High", "Professional"], from: 0)
        case .vp8, .vp9: return nil
        }
    }

    /// The level as the standards name it; nil for one that is not known.
    public var levelName: String? {
        guard let level, level > 0 else { return nil }
        switch codec {
        case .h264: return level == 9 ? "1b" : Self.name(tenths: Int(level))
        case .hevc: return Self.name(tenths: Int(level) / 3)
        // ITU-T H.262, table 8-3.
        case .mpeg2Video: return [4: "High", 6: "High 1440", 8: "Main", 10: "Low"][Int(level)]
        case .av1, .vp8, .vp9: return nil
        }
    }

    private static func name(_ number: UInt16, _ names: [String], from first: Int) -> String? {
        let index = Int(number) - first
        return names.indices.contains(index) ? names[index] : nil
    }

    private static func name(tenths: Int) -> String { tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)" }
}
