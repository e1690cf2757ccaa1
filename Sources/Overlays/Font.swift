import CFont
import Media

/// A font with outlines: TrueType, OpenType and what else FreeType reads. Scripts whose letters change beside others (Arabic, Devanagari)
/// are drawn letter by letter.
@safe public final class Font: GlyphSource {
    /// FreeType's handles are used by one thread at a time.
    @safe private struct Handle: ~Copyable, @unchecked Sendable {
        let font: OpaquePointer
        let bytes: UnsafeMutableBufferPointer<UInt8>

        deinit {
            unsafe burnish_font_close(font)
            unsafe bytes.deallocate()
        }
    }

    private let handle: Lock<Handle>
    /// The most bytes of a file.
    public static let largestFile = 32 << 20

    /// - Throws: where it is no font that can be drawn.
    public init(_ bytes: [UInt8]) throws(SmallFile.Fault) {
        let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: max(bytes.count, 1))
        _ = unsafe copy.initialize(from: bytes)
        guard let font = unsafe burnish_font_open(copy.baseAddress, bytes.count) else {
            unsafe copy.deallocate()
            throw SmallFile.Fault("is no font with outlines: give a .ttf or .otf file")
        }
        handle = Lock(unsafe Handle(font: font, bytes: copy))
    }

    public func glyphs(of scalars: Set<UInt32>, height: Int, shape: Double) -> GlyphSet {
        handle.withLock { handle in
            let ascent = unsafe burnish_font_scale(handle.font, Int32(clamping: height), shape)
            var set = GlyphSet(ascent: max(Int(ascent), 0))
            guard ascent >= 0 else { return set }
            for scalar in scalars.sorted() {
                var drawn = unsafe burnish_font_glyph()
                guard unsafe burnish_font_draw(handle.font, scalar, &drawn) == 0 else { continue }
                set.glyphs[scalar] = unsafe GlyphSet.Glyph(
                    width: Int(drawn.width), height: Int(drawn.height), left: Int(drawn.left), top: Int(drawn.top),
                    advance: Int(drawn.advance), start: set.coverage.count)
                for row in unsafe 0..<Int(drawn.height) {
                    let line = unsafe drawn.coverage + row * Int(drawn.stride)
                    unsafe set.coverage.append(contentsOf: UnsafeBufferPointer(start: line, count: Int(drawn.width)))
                }
            }
            return set
        }
    }
}
