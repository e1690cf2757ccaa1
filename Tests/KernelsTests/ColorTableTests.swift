import Kernels
import Media
import Testing

/// Tables of colours have their nodes where the kernels look for them.
@Suite struct ColorTableTests {
    @Test(arguments: [true, false]) func aTableOfTheSameColoursChangesNone(isEven: Bool) {
        let nodes = isEven ? ColorTable.ChromaNodes.even : .nearGrey
        let table = ColorTable(chroma: nodes) { $0 }
        #expect(nodes.sample(of: 16) == 128 && nodes.sample(of: 0) <= 0 && nodes.sample(of: 32) >= 255.75)
        // Every sample of chroma that 10 bits have, with every fourth of luma.
        let side = 32
        let deep = (0..<1024).map { UInt16($0) }
        let luma = (0..<4096).map { UInt16($0 % 1024 / 4 * 4) }
        var output = [UInt8](repeating: 0, count: 4096 + 2 * 1024)
        output.withUnsafeMutableBufferPointer { output in
            deep.withUnsafeBytes { deep in
                luma.withUnsafeBytes { luma in
                    let (y, u) = (output.baseAddress!, output.baseAddress! + 4096)
                    Kernels.best.mapColors(
                        (
                            DeepPlane(base: luma.baseAddress!, stride: 128), DeepPlane(base: deep.baseAddress!, stride: 64),
                            DeepPlane(base: deep.baseAddress!, stride: 64)
                        ), isDeep: true, by: table,
                        into: MutablePictureView(
                            y: MutablePlaneView(base: y, stride: 64, width: 2 * side, height: 2 * side),
                            u: MutablePlaneView(base: u, stride: side, width: side, height: side),
                            v: MutablePlaneView(base: u + 1024, stride: side, width: side, height: side)), dithers: false)
                }
            }
        }
        for index in 0..<4096 { #expect(abs(Double(output[index]) - Double(luma[index]) / 4) <= 0.5) }
        // No sample of 8 bits is 255.75, and far from grey three samples of 10 bits have one place between nodes.
        for index in 0..<1024 {
            let error = max(
                abs(Double(output[4096 + index]) - Double(index) / 4), abs(Double(output[5120 + index]) - Double(index) / 4))
            #expect(error <= (abs(index - 512) < 160 ? 0.5 : 0.75), "\(index)")
        }
    }
}
