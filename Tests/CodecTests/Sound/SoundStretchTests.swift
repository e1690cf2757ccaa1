import Foundation
import Testing

@testable import Codec

@Suite struct SoundStretchTests {
    private static let rate = Double(SoundLine.rate)

    /// Stretches mono sound, given in pieces of any size, and returns one channel of what comes out.
    private func stretched(_ sound: [Float], by factor: Int, piece: Int = 1024) -> [Float] {
        var stretch = SoundStretch(by: factor)
        var output: [Float] = []
        let stereo = sound.flatMap { [$0, $0] }
        for at in stride(from: 0, to: stereo.count, by: 2 * piece) {
            stereo[at..<min(at + 2 * piece, stereo.count)].withUnsafeBufferPointer { stretch.add($0) }
            stretch.take(isLast: false, into: &output)
        }
        stretch.take(isLast: true, into: &output)
        #expect(output.count % 2 == 0)
        return stride(from: 0, to: output.count, by: 2).map { output[$0] }
    }

    private func tone(_ frequency: Double, _ count: Int) -> [Float] {
        (0..<count).map { Float(0.5 * sin(2 * .pi * frequency * Double($0) / Self.rate)) }
    }

    /// The rate at which it crosses zero upwards, between two of its samples.
    private func pitch(_ sound: ArraySlice<Float>) -> Double {
        var crossings: [Double] = []
        for index in sound.indices.dropFirst() where sound[index - 1] < 0 && sound[index] >= 0 {
            crossings.append(Double(index) - Double(sound[index] / (sound[index] - sound[index - 1])))
        }
        return Double(crossings.count - 1) / (crossings.last! - crossings.first!) * Self.rate
    }

    @Test(arguments: [1, 2, 3, 8, 16], [110.0, 440, 1234.5]) func lengthAndPitch(factor: Int, frequency: Double) {
        let sound = tone(frequency, 19_999)
        let result = stretched(sound, by: factor)
        #expect(result.count == sound.count * factor)
        #expect(abs(pitch(result[4000..<result.count - 4000]) / frequency - 1) < 0.002)
        // It neither fades nor beats.
        let middle = result[4000..<result.count - 4000]
        #expect(abs((middle.reduce(0) { $0 + $1 * $1 } / Float(middle.count)).squareRoot() / 0.3536 - 1) < 0.02)
    }

    @Test func onceIsTheSame() {
        let sound = (0..<9000).map { Float(($0 * 7919) % 1000) / 1000 - 0.5 }
        let result = stretched(sound, by: 1)
        #expect(zip(result, sound).allSatisfy { abs($0 - $1) < 1e-5 } && result.count == sound.count)
    }

    /// However it comes, the result is the same.
    @Test func piecesDoNotMatter() {
        let sound = tone(300, 12_345)
        let whole = stretched(sound, by: 3, piece: 100_000)
        for piece in [1, 160, 4096] { #expect(stretched(sound, by: 3, piece: piece) == whole) }
        #expect(stretched([], by: 4).isEmpty && stretched([0.5], by: 4).count == 4)
    }

    /// The middle of each of many sounds is where the time line has it: none drifts away.
    @Test(arguments: [2, 4, 8]) func soundStaysWhereItBelongs(factor: Int) {
        let (count, length, distance) = (12, 4800, 14_400)
        var sound = [Float](repeating: 0, count: count * distance)
        for burst in 0..<count {
            let wave = tone(250 + 77 * Double(burst), length)
            for n in 0..<length { sound[burst * distance + 5000 + n] = wave[n] }
        }
        let result = stretched(sound, by: factor)
        var offsets: [Double] = []
        for burst in 0..<count {
            let range = burst * distance * factor..<(burst + 1) * distance * factor
            var (sum, moment) = (0.0, 0.0)
            for n in range {
                let power = Double(result[n] * result[n])
                (sum, moment) = (sum + power, moment + power * Double(n))
            }
            let expected = (Double(burst * distance + 5000) + Double(length - 1) / 2) * Double(factor)
            offsets.append((moment / sum - expected) / Self.rate * 1000)
        }
        let mean = offsets.reduce(0, +) / Double(count)
        #expect(abs(mean) < 1 && offsets.allSatisfy { abs($0) < 5 }, "milliseconds: \(offsets)")
    }

    /// Nothing that a decoder may give makes it fail.
    @Test func nonsenseIsStretched() {
        let sound: [Float] = (0..<6000).map { [.nan, .infinity, -.infinity, 3e38, 0, -1][$0 % 6] }
        #expect(stretched(sound, by: 2).count == 12_000)
    }
}
