import Measure
import Media
import Testing

private let now = WallTime(microseconds: 1_795_263_000_123_456)

private func code(_ number: UInt16, fps: Int64 = 30) -> TimeCode {
    TimeCode(captured: now + Int64(number) * 1_000_000 / fps, number: number, source: 7)
}

@Suite struct TimeCodeTests {
    @Test func wordsRoundTrip() {
        var random = SplitMix64(seed: 1)
        for _ in 0..<1000 {
            let code = TimeCode(
                captured: now + Int64.random(in: -100_000_000_000_000...100_000_000_000_000, using: &random),
                number: .random(in: 0...65535, using: &random), source: .random(in: 0...255, using: &random))
            #expect(TimeCode(code.word, near: now) == code)
        }
    }

    @Test func everyErrorOfOneToThreeBitsIsSeen() {
        let word = code(1).word
        for a in 0..<96 {
            for b in a..<96 {
                for c in [b, (b * 7 + a) % 96] {
                    var broken = word
                    for bit in Set([a, b, c]) { broken[bit].toggle() }
                    #expect(TimeCode(broken, near: now) == nil)
                }
            }
        }
    }

    @Test func flatBlocksAreNoCode() {
        var ones = TimeCode.Word()
        for bit in 0..<96 { ones[bit] = true }
        #expect(TimeCode(TimeCode.Word(), near: now) == nil)
        #expect(TimeCode(ones, near: now) == nil)
    }

    @Test(arguments: [24, 25, 30, 50, 60] as [Int64])
    func framesInSuccessionDifferInManyCells(fps: Int64) {
        var fewest = 96
        for number in 0..<5000 as Range<UInt16> {
            let (a, b) = (code(number, fps: fps).word, code(number + 1, fps: fps).word)
            fewest = min(fewest, (0..<96).count { a[$0] != b[$0] })
        }
        // More than TimeCodeReading needs to recognise a mixture of the two.
        #expect(fewest >= 8)
    }
}

private let sizes = [
    (160, 90), (90, 160), (176, 144), (320, 240), (360, 640), (640, 360), (642, 362), (1001, 101), (101, 1001),
]
.map { PictureSize(width: $0.0, height: $0.1) }

@Suite struct TimeCodeReadingTests {
    @Test(arguments: sizes)
    func readsWhatWasPainted(size: PictureSize) {
        for number in [0, 1, 2, 4095, 65535] as [UInt16] {
            #expect(Luma.pattern(size, code(number), index: Int(number)).reading(near: now) == .code(code(number)))
        }
    }

    @Test(arguments: [(160, 90), (90, 160), (320, 180)], [0.5, 0.75, 1.5, 2])
    func survivesScaling(from: (Int, Int), factor: Double) {
        let size = PictureSize(width: from.0, height: from.1)
        let target = PictureSize(
            width: Int(Double(size.width) * factor), height: Int(Double(size.height) * factor))
        let scaled = Luma.pattern(size, code(99), index: 99).scaled(to: target)
        #expect(scaled.reading(near: now) == .code(code(99)))
    }

    @Test func survivesNoiseAndRangeConversion() {
        var random = SplitMix64(seed: 2)
        let clean = Luma.pattern(PictureSize(width: 320, height: 180), code(5), index: 5)
        let noisy = Luma(clean.size) { x, y in clean[x, y] + Double.random(in: -50...50, using: &random) }
        #expect(noisy.reading(near: now) == .code(code(5)))
        let expanded = Luma(clean.size) { x, y in (clean[x, y] - 16) * 255 / 219 }
        #expect(expanded.reading(near: now) == .code(code(5)))
        let faded = Luma(clean.size) { x, y in 100 + (clean[x, y] - 100) * 0.4 }
        #expect(faded.reading(near: now) == .code(code(5)))
    }

    @Test(arguments: [0.25, 0.4, 0.5, 0.6, 0.75])
    func aBlendOfTwoFramesIsSynthesised(phase: Double) {
        let size = PictureSize(width: 320, height: 180)
        for number in 0..<6 as Range<UInt16> {
            let (a, b) = (
                Luma.pattern(size, code(number), index: Int(number)),
                Luma.pattern(size, code(number + 1), index: Int(number) + 1)
            )
            #expect(a.blended(with: b, phase: phase).reading(near: now) == .blended)
        }
    }

    @Test func aPatchworkOfTwoFramesNeverGivesAThirdTime() {
        let size = PictureSize(width: 160, height: 90)
        for number in 0..<8 as Range<UInt16> {
            let (a, b) = (Luma.pattern(size, code(number)), Luma.pattern(size, code(number + 1)))
            for column in stride(from: 0, through: 160, by: 2) {
                let reading = a.patched(with: b, from: column).reading(near: now)
                if case .code(let found) = reading { #expect(found == code(number) || found == code(number + 1)) }
            }
        }
    }

    @Test func picturesWithoutACodeHaveNone() {
        var random = SplitMix64(seed: 3)
        let size = PictureSize(width: 160, height: 90)
        for level in [0.0, 16, 128, 255] { #expect(Luma(size) { _, _ in level }.reading(near: now) == .absent) }
        #expect(Luma(size) { x, y in x / 6 % 2 == y / 6 % 2 ? 200 : 50 }.reading(near: now).isNoCode)
        for _ in 0..<50 {
            let noise = Luma(size) { _, _ in Double.random(in: 0...255, using: &random) }
            #expect(noise.reading(near: now).isNoCode)
        }
    }

    @Test(arguments: [(1, 1), (16, 16), (51, 9), (2, 400)])
    func tinyPicturesDoNotTrap(width: Int, height: Int) {
        let gray = Luma(PictureSize(width: width, height: height)) { x, y in Double((x * 31 + y * 17) & 255) }
        #expect(gray.reading(near: now).isNoCode)
    }
}

extension TimeCodeReading {
    fileprivate var isNoCode: Bool { if case .code = self { false } else { true } }
}

@Suite struct TestPatternTests {
    @Test func theSameNumberGivesTheSamePicture() {
        let size = PictureSize(width: 320, height: 180)
        #expect(Luma.pattern(size, code(17), index: 17) == Luma.pattern(size, code(17), index: 17))
        #expect(Luma.pattern(size, code(17), index: 17) != Luma.pattern(size, code(17), index: 18))
    }

    @Test(arguments: sizes + [PictureSize(width: 64, height: 64), PictureSize(width: 65, height: 99)])
    func writesOnlyInsideThePicture(size: PictureSize) {
        // Odd sizes, and rows wider than the picture with canaries in the gap.
        let stride = size.width + 17
        let chroma = size.chroma
        let bytes = stride * (size.height + 2 * chroma.height)
        let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: bytes)
        defer { memory.deallocate() }
        memory.initialize(repeating: 0xA5, count: bytes)
        let u = memory + stride * size.height
        let view = MutablePictureView(
            y: MutablePlaneView(base: memory, stride: stride, width: size.width, height: size.height),
            u: MutablePlaneView(base: u, stride: stride, width: chroma.width, height: chroma.height),
            v: MutablePlaneView(
                base: u + stride * chroma.height, stride: stride, width: chroma.width, height: chroma.height))
        let pattern = TestPattern(size: size, framesPerSecond: 60)
        for index in [0, 1, 59, 1_000_000] { pattern.paint(view, code: code(1), index: index) }
        for plane in [view.y, view.u, view.v] {
            for y in 0..<plane.height {
                for x in plane.width..<stride { #expect(plane.row(y)[x] == 0xA5) }
            }
        }
    }
}
