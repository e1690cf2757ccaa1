import Media

/// What a stream's headers and messages say of the colours of its pictures, before one is decoded.
public struct StatedColor: Hashable, Sendable {
    public var color: ColorDescription
    /// The brightest light in cd/m²: of the content, or else of the display on which it was mastered; nil where nothing says it.
    public var peak: Double?

    init(_ color: ColorDescription, _ light: LightMessages = LightMessages()) {
        self.color = color
        if let transfer = light.transfer { self.color.transfer = transfer }
        peak = light.peak
    }
}

/// Messages of one access unit (SEI) that concern light.
struct LightMessages: Hashable, Sendable {
    /// The transfer characteristics to use in place of those of the sequence: how HLG is sent to receivers that do not know it.
    var transfer: UInt8?
    var ofContent: Double?
    var ofDisplay: Double?

    var peak: Double? {
        [ofContent, ofDisplay].lazy.compactMap { $0 }.first { ColorConversion.peaks.contains($0) }
    }
}
