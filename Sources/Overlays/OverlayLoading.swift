import Bitstream
import Codec
import Media

extension StepSettings {
    /// Reads the files that these settings name: the table (`lut`), images and the font. It may take milliseconds, and memory.
    /// - Parameters:
    ///   - stream: the name that `{stream}` shows.
    ///   - read: reads a file of at most so many bytes.
    /// - Throws: the first fault, with the name of the setting.
    public mutating func readFiles(
        stream: String, _ read: (_ path: String, _ most: Int) throws(SmallFile.Fault) -> [UInt8]
    ) throws(FileSettingFault) {
        if var file = color.lut {
            do throws(SmallFile.Fault) {
                let text = try read(file.path, CubeReader.largestFile)
                do throws(CubeFault) { file.table = try CubeReader.read(text) } catch { throw SmallFile.Fault("\(error)") }
            } catch {
                throw FileSettingFault(key: "lut", text: "\(file.path): \(error)")
            }
            color.lut = file
        }
        guard let shown = overlay else { return }
        var images: [String: OverlayImage] = [:]
        for path in shown.images {
            do throws(SmallFile.Fault) {
                images[path] = try Self.image(try read(path, PNGChunks.largestFile))
            } catch {
                throw FileSettingFault(key: "overlay", text: "\(path): \(error)")
            }
        }
        var font: Font?
        if shown.hasText {
            do throws(SmallFile.Fault) {
                font = try Font(try read(overlayFont, Font.largestFile))
            } catch {
                throw FileSettingFault(key: "overlay-font", text: "\(overlayFont): \(error)")
            }
        }
        overlay?.material = OverlayMaterial(images: images, font: font, stream: stream)
    }

    /// Takes over what was read of files for the same settings, where these have not been read.
    public mutating func adoptFiles(of read: StepSettings) {
        if color.lut?.path == read.color.lut?.path, color.lut?.table == nil { color.lut = read.color.lut }
        if overlay?.items == read.overlay?.items, overlayFont == read.overlayFont, overlay?.material == nil {
            overlay = read.overlay
        }
    }

    private static func image(_ bytes: [UInt8]) throws(SmallFile.Fault) -> OverlayImage {
        let chunks: PNGChunks
        do throws(PNGFault) { chunks = try PNGChunks(bytes) } catch { throw SmallFile.Fault("\(error)") }
        do throws(CodecError) { return try PNGDecoder.decode(chunks) } catch {
            throw SmallFile.Fault("cannot be decoded: \(error.message)")
        }
    }
}

/// A fault in a file that a setting names.
public struct FileSettingFault: Error, Hashable, Sendable {
    public var key: String
    public var text: String

    public init(key: String, text: String) { (self.key, self.text) = (key, text) }
}
