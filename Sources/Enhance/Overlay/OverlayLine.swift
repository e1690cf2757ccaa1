import Glibc
import Kernels
import Media

/// A line of text as light to lay over a picture. It is drawn again when its text changes. Allocates nothing after that it is made, but
/// where the picture is turned another way. Confined to one thread at a time.
final class OverlayLine {
    let layer: OverlayLayer
    /// Of the upright line, even.
    private(set) var width = 0
    let height: Int
    private let longest: Int
    private let glyphs: GlyphSet
    private let parts: [Part]
    private let tone: OverlayTone
    /// What is shown, and what is about to be, as Unicode scalars.
    private var shown: [UInt32] = []
    private var next: [UInt32] = []
    /// How much of each sample of the upright line is covered, the same as the picture is coded where that is another way, and at the
    /// size of chroma.
    private let upright: CoverPlane
    private let coded: CoverPlane?
    private let halved: CoverPlane
    /// What is added to luma and chroma, and what stays, where nothing is covered and where all is.
    private var bare = Light()
    private var covered = Light()

    private struct Light {
        var (y, u, v, rest): (UInt8, UInt8, UInt8, UInt8) = (0, 0, 0, 255)
    }

    private enum Part {
        case literal([UInt32])
        /// What `strftime` reads.
        case clock([CChar])
        case field(OverlayText.Field)
    }

    /// What figures are made of.
    private static let usual = Set(UInt32(32)...126)

    /// - Parameters:
    ///   - height: of the line, even.
    ///   - longest: the picture's width. What would be longer is cut off.
    init(
        _ text: OverlayText, of item: Overlay.Item, _ material: OverlayMaterial, font: any GlyphSource, height: Int,
        longest: Int,
        _ tone: OverlayTone
    ) {
        self.height = height
        self.longest = longest / 2 * 2
        self.tone = tone
        parts = text.parts.map { part in
            switch part {
            case .literal(let text): .literal(text.unicodeScalars.map(\.value))
            case .clock(let letter): .clock(Array("%\(letter)".utf8CString))
            case .field(.stream): .literal(material.stream.unicodeScalars.map(\.value))
            case .field(let field): .field(field)
            }
        }
        let own = parts.flatMap { part -> [UInt32] in if case .literal(let scalars) = part { scalars } else { [] } }
        glyphs = font.glyphs(of: Self.usual.union(own), height: height, shape: tone.shape)
        let largest = tone.turn.size(of: PictureSize(width: self.longest, height: height))
        upright = CoverPlane(width: self.longest, height: height)
        coded = tone.turn.isNone ? nil : CoverPlane(width: largest.width, height: largest.height)
        halved = CoverPlane(width: largest.width / 2, height: largest.height / 2)
        layer = OverlayLayer(width: 2, height: 2, room: self.longest * height)
        shown.reserveCapacity(1024)
        next.reserveCapacity(1024)
        bare = Self.light(0, item, tone)
        covered = Self.light(1, item, tone)
    }

    /// Text lies over its box, and both over the picture.
    private static func light(_ cover: Double, _ item: Overlay.Item, _ tone: OverlayTone) -> Light {
        let text = cover * item.opacity
        let alpha = text + (1 - cover) * item.box * item.opacity
        let color = item.color
        let samples = tone.samples(
            text * Double(color.red) / 255, text * Double(color.green) / 255, text * Double(color.blue) / 255, alpha: alpha)
        let most = (255 * alpha).rounded()
        func sample(_ value: Double) -> UInt8 { UInt8(min(max(value.rounded(), 0), most)) }
        var light = Light()
        (light.y, light.u, light.v) = (sample(samples.y), sample(samples.u), sample(samples.v))
        light.rest = UInt8(255 - most)
        return light
    }

    /// Brings the line up to date.
    func show(_ moment: StepMoment) {
        compose(moment)
        guard next != shown || width == 0 else { return }
        swap(&next, &shown)
        draw()
        fill()
    }

    private func compose(_ moment: StepMoment) {
        next.removeAll(keepingCapacity: true)
        var clock = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &clock)
        for part in parts {
            switch part {
            case .literal(let scalars): next.append(contentsOf: scalars)
            case .clock(let format): append(format, clock.tv_sec)
            case .field(.ms): append(clock.tv_nsec / 1_000_000, digits: 3)
            case .field(.frame): append(Int(clamping: moment.number))
            case .field(.latency):
                guard let arrived = moment.arrived else { continue }
                let tenths = max((MonotonicTime.now() - arrived).count / 100_000, 0)
                append(Int(tenths / 10))
                next.append(UInt32(ascii: "."))
                append(Int(tenths % 10))
                for letter in " ms".utf8 { next.append(UInt32(letter)) }
            case .field(.timecode): appendTime(moment.presented)
            case .field(.stream): break  // it is a literal
            }
        }
    }

    private func append(_ format: [CChar], _ seconds: time_t) {
        var (seconds, parts) = unsafe (seconds, tm())
        unsafe localtime_r(&seconds, &parts)
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
            let count = unsafe strftime(buffer.baseAddress!, buffer.count, format, &parts)
            for index in 0..<count { next.append(UInt32(UInt8(bitPattern: unsafe buffer[index]))) }
        }
    }

    private func append(_ number: Int, digits least: Int = 1) {
        var (power, digits) = (1, 1)
        while digits < least || number / power >= 10 { (power, digits) = (power * 10, digits + 1) }
        while power > 0 {
            next.append(UInt32(ascii: "0") + UInt32(number / power % 10))
            power /= 10
        }
    }

    private func appendTime(_ time: Nanoseconds) {
        let milliseconds = max(Int(time.count / 1_000_000), 0)
        append(milliseconds / 3_600_000, digits: 2)
        next.append(UInt32(ascii: ":"))
        append(milliseconds / 60_000 % 60, digits: 2)
        next.append(UInt32(ascii: ":"))
        append(milliseconds / 1000 % 60, digits: 2)
        next.append(UInt32(ascii: "."))
        append(milliseconds % 1000, digits: 3)
    }

    /// Draws the glyphs, each beside the one before.
    private func draw() {
        let margin = Int(Double(height / 4) / tone.shape)
        unsafe upright.withRows { rows in
            for row in 0..<height { unsafe rows.row(row).update(repeating: 0, count: width) }
            var pen = margin
            for scalar in shown {
                guard let glyph = glyphs.glyphs[scalar] else { continue }
                let first = max(pen + glyph.left, 0)
                let last = min(pen + glyph.left + glyph.width, longest)
                let top = glyphs.ascent - glyph.top
                for y in max(top, 0)..<max(min(top + glyph.height, height), max(top, 0)) where first < last {
                    unsafe glyphs.coverage.withUnsafeBufferPointer { coverage in
                        let source = glyph.start + (y - top) * glyph.width + first - pen - glyph.left
                        unsafe CoverRows.raise(rows.row(y) + first, to: coverage.baseAddress! + source, width: last - first)
                    }
                }
                pen += glyph.advance
            }
            width = min((pen + margin + 1) / 2 * 2, longest)
        }
    }

    /// Makes light of what is covered, turned as the picture is coded.
    private func fill() {
        let size = tone.turn.size(of: PictureSize(width: width, height: height))
        layer.reshape(width: size.width, height: size.height)
        unsafe upright.withRows { rows in
            guard let coded else { return unsafe fill(from: rows, size) }
            unsafe coded.withRows { turned in
                unsafe tone.turn.turn(
                    PlaneView(base: rows.base, stride: rows.stride, width: width, height: height),
                    into: MutablePlaneView(base: turned.base, stride: turned.stride, width: size.width, height: size.height))
                unsafe fill(from: turned, size)
            }
        }
    }

    private func fill(from cover: MutablePlaneView, _ size: PictureSize) {
        unsafe layer.write { y, u, v in
            for row in 0..<size.height {
                let (line, at) = unsafe (UnsafePointer(cover.row(row)), row * size.width)
                unsafe CoverRows.mix(y.light + at, line, from: bare.y, to: covered.y, width: size.width)
                unsafe CoverRows.mix(y.rest + at, line, from: bare.rest, to: covered.rest, width: size.width)
            }
            unsafe halved.withRows { halved in
                let line = unsafe halved.row(0)
                for row in 0..<size.height / 2 {
                    let (width, at) = (size.width / 2, row * (size.width / 2))
                    unsafe CoverRows.halve(line, cover.row(2 * row), cover.row(2 * row + 1), width: width)
                    unsafe CoverRows.mix(u.light + at, line, from: bare.u, to: covered.u, width: width)
                    unsafe CoverRows.mix(v.light + at, line, from: bare.v, to: covered.v, width: width)
                    unsafe CoverRows.mix(u.rest + at, line, from: bare.rest, to: covered.rest, width: width)
                }
            }
        }
    }
}

/// Memory for how much of each sample is covered. Confined to one thread at a time.
@safe private final class CoverPlane {
    private var samples: [UInt8]
    private let (width, height): (Int, Int)

    init(width: Int, height: Int) {
        (self.width, self.height) = (width, height)
        samples = [UInt8](repeating: 0, count: width * height)
    }

    @unsafe func withRows(_ body: (MutablePlaneView) -> Void) {
        unsafe samples.withUnsafeMutableBufferPointer { samples in
            unsafe body(MutablePlaneView(base: samples.baseAddress!, stride: width, width: width, height: height))
        }
    }
}

extension UInt32 {
    fileprivate init(ascii: Unicode.Scalar) { self = ascii.value }
}
