import Media
import Schedule

extension Load {
    /// 640x360 at 30 frames a second to 1280x720 at 60, within 80 ms, on two cores. The costs are those of a 2.5 GHz x86-64
    /// core with AVX2 (x264 ultrafast), rounded up.
    public static func usual(_ name: String, seconds: Double = 60, framesPerSecond: Double = 30) -> Load {
        var costs = FrameLoad(arrival: MonotonicTime(nanoseconds: 0), emitBy: MonotonicTime(nanoseconds: 0))
        costs.decode = 2e6
        costs.base = 2.5e6
        costs.tileS = 0.03e6
        costs.tileM = 0.125e6
        costs.tileQ = 1.1e6
        costs.synthesise = 6e6
        costs.encode = 8e6
        costs.encodeSynthesised = 8e6
        var load = Load(
            name: name, frames: Int(seconds * framesPerSecond), interval: .seconds(1 / framesPerSecond),
            budget: .milliseconds(80), costs: costs)
        load.jitter = .milliseconds(4)
        load.activity = 0.7
        load.input = PictureSize(width: 640, height: 360)
        return load
    }

    /// The loads of `burnish replay --synthetic NAME`, one minute each. docs/measurements/scheduler.md has their results.
    public static let named: [Load] = {
        func load(_ name: String, _ change: (inout Load) -> Void) -> Load {
            var load = usual(name)
            change(&load)
            return load
        }
        return [
            load("steady") { _ in },
            load("jitter") { $0.jitter = .milliseconds(30) },
            load("spikes") { $0.spikes = 0.02 },
            load("drift") {
                $0.disturbances = [Disturbance(.costs(from: 1, to: 4), from: .seconds(5), to: .seconds(55))]
            },
            load("core-taken") {
                $0.disturbances = [Disturbance(.otherThreads(1), from: .seconds(20), to: .seconds(40))]
            },
            load("cores-taken") {
                $0.disturbances = [Disturbance(.otherThreads(2), from: .seconds(20), to: .seconds(40))]
            },
            load("bursts") {
                $0.disturbances = (0..<10).map {
                    let start = 5 + 5 * Double($0)
                    return Disturbance(.networkStall, from: .seconds(start), to: .seconds(start + 0.5))
                }
            },
            load("early-start") { $0.burst = 15 },
            load("early-start-30") { $0.burst = 30 },
            load("early-start-heavy") {
                $0.burst = 15
                $0.costs.scale(by: 2)
            },
            load("chunks") {
                $0.burst = 15
                $0.repeatsBursts = true
            },
            load("overload-5x") {
                $0.costs.scale(by: 5)
                $0.input = PictureSize(width: 1280, height: 800)
            },
            load("overload-60fps") {
                $0.interval = .seconds(1 / 60.0)
                $0.frames = 3600
                $0.costs.scale(by: 4)
                $0.input = PictureSize(width: 1280, height: 720)
            },
            load("tiny-budget") { $0.deadline.budget = .milliseconds(8) },
            load("four-streams") { $0.streams = 4 },
            load("four-lighter-streams") {
                $0.streams = 4
                $0.costs.scale(by: 0.6)
            },
            load("four-lighter-streams-dealt") {
                $0.streams = 4
                $0.costs.scale(by: 0.6)
                $0.isSupervised = true
            },
            load("four-overstating-streams-dealt") {
                $0.streams = 4
                $0.costs.scale(by: 0.6)
                $0.isSupervised = true
                $0.overstated = 1.7
            },
            load("two-streams-dealt") {
                $0.streams = 2
                $0.costs.scale(by: 0.6)
                $0.isSupervised = true
            },
        ]
    }()

    public static func named(_ name: String) -> Load? { named.first { $0.name == name } }
}
