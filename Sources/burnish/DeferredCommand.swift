import ArgumentParser
import Codec
import Enhance
import Foundation
import Media
import Offline
import Settings
import Worker
import WorkerProtocol

/// Makes what was asked for of a stream's past, of a file that the service keeps for that. `burnishd` starts it; the help does not show
/// it.
///
/// It takes only the processor time that all others leave. It ends with the service.
struct DeferredCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deferred", abstract: "Makes a still or a clip of the past well, for burnishd, which starts it.",
        shouldDisplay: false)

    @Option(help: "The file with the coded units, and what is to be made of them.") var job: String
    @Option(help: "The file to write. It must not exist.") var output: String
    @Flag(help: "Use a smaller network.") var lower = false
    @Option(help: "Threads that enhance a picture together.") var threads = 1
    @Flag(help: "Keep all rights of the process.") var noSandbox = false

    /// Linux's SCHED_IDLE, which glibc's headers hide from Swift.
    private static let idlePolicy: Int32 = 5
    /// The service's end of a socket pair is at the other end of it.
    private static let serviceDescriptor: Int32 = 3

    func run() throws {
        var parameters = sched_param()
        _ = sched_setscheduler(0, Self.idlePolicy, &parameters)
        setpriority(Int32(PRIO_PROCESS.rawValue), 0, 19)
        guard let file = FileManager.default.contents(atPath: job), let read = DeferredJob.read(Array(file)) else {
            throw fail("\(job): it is no whole file of a still or clip", Failure.badInput)
        }
        if read.job.kind == .clip { return try makeClip(file.prefix(read.contents), read.job) }
        let number = open(output, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o640)
        guard number >= 0 else { throw fail("\(output): \(String(cString: strerror(errno)))", Failure.unavailable) }
        let result = PassedDescriptor(owning: number)
        let values = try settings(of: read.job)
        if !noSandbox {
            do throws(SandboxFault) { _ = try Sandbox.enter() } catch { throw fail("\(error)", Failure.internalError) }
        }
        followService()
        let bytes: [UInt8]
        do {
            bytes = try still(UnitFile(reading: Array(file.prefix(read.contents))), values)
        } catch {
            throw fail("\(error)", Failure.badInput)
        }
        let fault = result.write(bytes)
        guard fault == nil, fsync(result.number) == 0 else {
            throw fail("\(output): \(fault ?? String(cString: strerror(errno)))", Failure.unavailable)
        }
    }

    private func still(_ units: UnitFile, _ values: StreamValues) throws(FileEnhancementError) -> [UInt8] {
        var still = FinalStill()
        still.steps = values.settings.steps
        // Noise is found out, unless somebody says how much there is.
        if still.steps.denoise == 0 { still.steps.denoise = nil }
        still.size = values.options.size.map { .exactly($0) } ?? values.options.scale.output
        still.tier = lower ? .neuralMedium : .quality
        still.threads = threads
        return try still.make(units)
    }

    /// libavformat opens files by their names: one for the units, and the result.
    private func makeClip(_ units: Data, _ job: DeferredJob) throws {
        // The service removes it.
        let source = output + ".part"
        let values = try settings(of: job)
        for path in [source, output] {
            let number = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o640)
            guard number >= 0 else { throw fail("\(path): \(String(cString: strerror(errno)))", Failure.unavailable) }
            let file = PassedDescriptor(owning: number)
            if path == source, let fault = file.write(Array(units)) {
                throw fail("\(path): \(fault)", Failure.unavailable)
            }
        }
        if !noSandbox {
            do throws(SandboxFault) { _ = try Sandbox.enter(reading: source, writing: output) } catch {
                throw fail("\(error)", Failure.internalError)
            }
        }
        followService()
        var work = FileEnhancement(input: source, output: output)
        work.steps = values.settings.steps
        if work.steps.denoise == 0 { work.steps.denoise = nil }
        work.size = values.options.size.map { .exactly($0) } ?? values.options.scale.output
        if work.size == .same { work.restoration = .medium }
        work.tier = lower ? .neuralMedium : .quality
        work.hdrPeak = values.settings.hdrPeak
        work.threads = threads
        do throws(FileEnhancementError) { _ = try work.run(notice: { StandardError.line($0) }) { _, _ in true } } catch {
            throw fail("\(error)", Failure.badInput)
        }
        let number = open(output, O_RDONLY | O_CLOEXEC)
        guard number >= 0, fsync(number) == 0 else {
            throw fail("\(output): \(String(cString: strerror(errno)))", Failure.unavailable)
        }
        close(number)
    }

    /// What the stream's settings were. Reads the table of colours that they name.
    private func settings(of job: DeferredJob) throws -> StreamValues {
        do {
            var values = try StreamValues(job.settings)
            // Its clock would show when the still is made.
            values.settings.steps.overlay = nil
            try StepOptions.readFiles(of: &values.settings.steps, stream: job.stream)
            return values
        } catch let fault as SettingFault {
            throw fail("\(fault.key): \(fault.text)", Failure.badInput)
        }
    }

    /// Ends with the service, also where that is killed.
    private func followService() {
        var type: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(Self.serviceDescriptor, SOL_SOCKET, SO_TYPE, &type, &length) == 0 else { return }
        StageThread(name: "service") {
            var byte: UInt8 = 0
            while recv(Self.serviceDescriptor, &byte, 1, 0) > 0 || errno == EINTR {}
            _exit(Failure.unavailable.rawValue)
        }.detach()
    }

    private func fail(_ text: String, _ code: ExitCode) -> ExitCode {
        StandardError.line("burnish: \(text)")
        return code
    }
}
