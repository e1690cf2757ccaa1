import EnhanceNetworks
import Glibc
import Media

@testable import Enhance

/// Reads grey frames from standard input: fusion-planes WIDTH HEIGHT. Writes of each new picture between two of them a byte, 0 where it
/// is held; the finished picture of `quality`; and the ten drawn predictions.
@main
enum FusionPlanes {
    static func main() throws {
        let sides = CommandLine.arguments.dropFirst().compactMap { Int($0) }
        guard sides.count == 2, let input = unsafe fdopen(STDIN_FILENO, "r"), let output = unsafe fdopen(STDOUT_FILENO, "w")
        else {
            print("usage: fusion-planes WIDTH HEIGHT < grey frames > planes")
            exit(64)
        }
        let size = PictureSize(width: sides[0], height: sides[1])
        let source = Picture(size: size)
        let result = Picture(size: size)
        var configuration = FrameInterpolationConfiguration(size: size)
        // Its planes are those before it runs, so any network will do.
        configuration.fusion = .shipped
        let conversion = try FrameRateConversion(configuration)

        func make() throws {
            let made = unsafe try conversion.synthesise(phase: 0.5, into: result.mutableView)
            unsafe putc(made.method == .held ? 0 : 1, output)
            var index = 0
            unsafe conversion.withFusionPlanes(phase: 0.5) { plane in
                // The pair itself is left out.
                if index == 0 || index > 2 { for y in 0..<size.height { unsafe fwrite(plane.row(y), 1, size.width, output) } }
                index += 1
            }
        }

        let view = unsafe source.mutableView
        for y in 0..<size.chroma.height {
            unsafe view.u.row(y).update(repeating: 128, count: size.chroma.width)
            unsafe view.v.row(y).update(repeating: 128, count: size.chroma.width)
        }
        reading: while true {
            for y in 0..<size.height where unsafe fread(view.y.row(y), 1, size.width, input) != size.width { break reading }
            unsafe try conversion.push(source.view, enhanced: source.view)
            if conversion.isReady { try make() }
        }
        conversion.finish()
        if conversion.isReady { try make() }
        unsafe fclose(output)
    }
}
