import Codec
import Media

extension PastRing {
    /// So many pictures before one, and behind it, help to take its noise out.
    private static let around = 16
    /// A file of units grows no larger by entry points that lie further back.
    private static let wantedBytes = 4 << 20
    /// The largest file of units. Larger groups of pictures give no final still.
    private static let mostBytes = 48 << 20

    /// The picture of what came in that another one was made of.
    /// - Parameter shown: a picture of what went out. One that was synthesised is made of the picture before it.
    func source(of shown: PastUnit) -> PastUnit? {
        withUnits { units in
            if let same = units.last(where: { $0.frame == shown.frame }) { return same }
            var best: PastUnit?
            for index in 0..<units.count {
                let unit = units[index]
                guard unit.isPicture, unit.presentation <= shown.presentation,
                    unit.presentation >= best?.presentation ?? unit.presentation
                else { continue }
                best = unit
            }
            return best
        }
    }

    /// Copies what a decoder needs to make a picture again, and those around it, as far as they have come.
    /// - Throws: where it has left the ring, or is too large.
    func unitFile(around target: PastUnit, hdrPeak: Double?) throws(PastFault) -> [UInt8] {
        guard let codec = target.codec, let start = entry(for: target) else { throw .gone }
        var file = UnitFile(codec, target: Int64(target.number), hdrPeak: hdrPeak)
        var bytes: [UInt8] = []
        var number = start
        var behind = 0
        while number < nextNumber, behind < Self.around {
            guard let unit = read(number, into: &bytes) else {
                if number <= target.number { throw .gone }
                break
            }
            number += 1
            guard unit.isPicture else { continue }
            guard unit.codec == codec else {
                if unit.number > target.number { break }
                continue
            }
            file.append(bytes, id: Int64(unit.number), presentation: unit.presentation, flags: unit.flags)
            if unit.number > target.number { behind += 1 }
            guard file.bytes.count <= Self.mostBytes else {
                throw PastFault(
                    .conflict,
                    "the pictures since the keyframe before it take more than \(Self.mostBytes >> 20) MiB: ask for fast")
            }
        }
        file.finish()
        return file.bytes
    }

    /// Where the units begin: the nearest entry point with enough pictures between it and the target, and one before that as far as they
    /// are small, for pictures of a gradual refresh.
    private func entry(for target: PastUnit) -> UInt64? {
        withUnits { units in
            let entries = units.entries(before: target, most: 4)
            guard var found = entries.first else { return nil }
            for entry in entries.dropFirst() {
                let first = Int(entry - units[0].number)
                let last = Int(target.number - units[0].number)
                let bytes = (first..<last).reduce(0) { $0 + units[$1].byteCount }
                if target.number - found >= UInt64(Self.around), bytes > Self.wantedBytes { break }
                found = entry
                if bytes > Self.wantedBytes { break }
            }
            return found
        }
    }
}
