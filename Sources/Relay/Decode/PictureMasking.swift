import Codec
import Enhance
import Media
import Schedule
import Settings
import Telemetry

/// Masks the pictures of a stream as the newest settings ask. Without a mask it costs two atomic loads for a picture.
///
/// Nobody writes into a decoder's own picture, because later ones may refer to it. So a mask costs a copy of the picture, too.
///
/// Confined to one thread.
final class PictureMasking {
    private let live: LiveSettings
    private var settings: LiveSettings.Copy
    private let counters: StreamCounters
    private let control: StreamControl
    private let step: any PictureStep
    private let maker = PictureMaker()
    /// The last picture could not be masked, so the next failure is no news.
    private var isFailing = false

    init(_ channels: StreamChannels) {
        live = channels.settings
        settings = LiveSettings.Copy(of: live)
        counters = channels.books.counters
        control = channels.control
        step = channels.configuration.makeMask()
    }

    /// Whether a picture that was masked may still leave.
    func isCurrent(_ record: FrameRecord) -> Bool { record.maskNumber >= live.maskNumber }

    /// Masks a picture, and gives its frame the number of the mask.
    /// - Returns: the picture, or its masked copy; nil where it must not be shown because it could not be masked.
    func mask(_ picture: consuming DecodedPicture, of record: inout FrameRecord) -> DecodedPicture? {
        _ = settings.refresh()
        guard settings.value.steps.holdsBypass else {
            record.maskNumber = settings.maskNumber
            return picture
        }
        let started = MonotonicTime.now()
        let parameters = StepParameters(
            settings.value.steps, chromaLocation: picture.color.chromaLocation, isFullRange: picture.color.range == .full,
            orientation: picture.color.orientation)
        var failure: (any Error)?
        do throws(CodecError) {
            let view = unsafe picture.view
            let masked = unsafe try maker.make(like: picture, scan: picture.scan) { target in
                unsafe target.copy(view)
                do throws(EnhanceError) {
                    let outcome = unsafe try step.process(StepInput(target.readOnly), into: target, parameters)
                    if case .written = outcome { return }
                    failure = EnhanceError(.cancelled, "the step wrote nothing")
                } catch {
                    failure = error
                }
            }
            if failure == nil {
                counters.add(.mask, .now() - started)
                isFailing = false
                record.maskNumber = settings.maskNumber
                return masked
            }
        } catch {
            failure = error
        }
        if !isFailing, let failure { control.report(.message("pictures cannot be masked, and are not sent: \(failure)")) }
        isFailing = true
        return nil
    }
}
