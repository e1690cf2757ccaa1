// swift-tools-version: 6.2
import PackageDescription

/// Modules that touch raw memory or C: every unsafe expression is marked `unsafe`.
let marked: [SwiftSetting] = [.strictMemorySafety()]

let strictC: [CSetting] = [.treatAllWarnings(as: .error)]

/// libsrt is linked statically with hidden symbols: libavformat loads Debian's other build of the same library
/// (libsrt-gnutls), and two libraries that export the same names crash at exit.
let linkSRT: [LinkerSetting] = [
    .linkedLibrary(":libsrt.a"),
    .unsafeFlags(["-Xlinker", "--exclude-libs=libsrt.a"]),
    // Sources/CSRTArrival says why.
    .unsafeFlags(["-Xlinker", "--wrap=recvmsg", "-Xlinker", "--wrap=sendmsg"]),
    .linkedLibrary("ssl"), .linkedLibrary("crypto"), .linkedLibrary("stdc++"), .linkedLibrary("m"),
]

/// The HTTP stack of the service takes minutes to compile. What does not need the service leaves it out:
/// BURNISH_SERVICE=0 swift build …
let hasService = Context.environment["BURNISH_SERVICE"] != "0"
let httpStack: [Package.Dependency] = [
    .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
    .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-ssl", exact: "2.37.6"),
    .package(url: "https://github.com/apple/swift-nio-extras", exact: "1.35.2"),
    .package(url: "https://github.com/apple/swift-http-types", exact: "1.8.0", traits: []),
    .package(url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1", traits: []),
]

let package = Package(
    name: "burnish",
    products: [
        .executable(name: "burnish", targets: ["burnish"]),
        .executable(name: "burnishd", targets: ["burnishd"]),
        .library(name: "Enhance", targets: ["Enhance", "Media"]),
        // Apart, so that a library user who wants no weights links none.
        .library(name: "EnhanceNetworks", targets: ["EnhanceNetworks"]),
        // For tools/bench/sr-bench, which runs on machines without FFmpeg and SRT.
        .library(name: "Bench", targets: ["Bench", "KernelChecks"]),
        // For Tests/Fuzz, which links libFuzzer's main function.
        .library(
            name: "Parsers",
            targets: [
                "ServiceConfiguration", "RoomLinks", "WorkerProtocol", "Settings", "Simulation", "WebRTC", "Transport", "SRT",
                "Packets", "Endpoint",
                "Container", "Bitstream", "Telemetry", "Schedule", "Enhance", "Media",
            ]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/jpsim/Yams", exact: "6.2.2"),
    ] + (hasService ? httpStack : []),
    targets: [
        // MARK: - Programs: arguments and wiring

        .executableTarget(
            name: "burnish",
            dependencies: [
                "Bench", "Measure", "Worker", "WorkerProtocol", "Relay", "Offline", "Simulation", "Transport", "Packets",
                "Endpoint",
                "Container", "Bitstream", "Overlays", "Codec", "Settings", "Schedule",
                "EnhanceNetworks", "Enhance", "Telemetry", "KernelChecks", "Kernels", "Media",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]),
        .executableTarget(
            name: "burnishd",
            dependencies: [
                "Web", "Control", "ServiceConfiguration", "Telemetry", "Media",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ]),

        // MARK: - Modules: each depends on those below it only, and Tests/ArchitectureTests checks that

        // The service.
        .target(
            name: "Web",
            dependencies: [
                "Control", "QRCodes", "RoomLinks", "ServiceConfiguration", "WorkerProtocol", "Settings", "Endpoint",
                "Telemetry",
                "Schedule", "Media",
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            resources: [
                "index.html", "room.html", "burnish.css", "figures.css", "room.css", "addresses.js", "api.js", "asking.js",
                "burnish.js", "callers.js",
                "calls.js", "captures.js", "checks.js", "controls.js", "copying.js", "delay.js", "editor.js", "elements.js",
                "events.js",
                "figures.js", "formats.js", "history.js", "pictures.js", "plots.js", "reactions.js", "room.js", "rooms.js",
                "signing.js", "streams.js", "tiles.js", "webrtc.js", "icon.svg",
            ]
            .map { .embedInCode("Page/\($0)") }),
        .target(
            name: "Control",
            dependencies: [
                "CProcess", "RoomLinks", "ServiceConfiguration", "WorkerProtocol", "Settings", "Packets", "Endpoint",
                "Telemetry",
                "Machine", "Schedule", "Media",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: marked),
        .target(name: "QRCodes", dependencies: ["CQREncode"], swiftSettings: marked),
        .target(name: "RoomLinks", dependencies: ["CHMAC"], swiftSettings: marked),
        .target(
            name: "ServiceConfiguration", dependencies: ["Settings", "Endpoint", .product(name: "Yams", package: "Yams")],
            swiftSettings: marked),

        // Its worker process, and what it says to its supervisor.
        .target(
            name: "Worker",
            dependencies: [
                "Relay", "WorkerProtocol", "Settings", "WebRTC", "Transport", "SRT", "Packets", "Endpoint", "Overlays", "Codec",
                "Schedule",
                "Telemetry",
                "CSandbox", "Media",
            ],
            swiftSettings: marked),
        .target(name: "WorkerProtocol", dependencies: ["Media"], swiftSettings: marked),

        // One stream, and the instruments that measure it from outside.
        .target(
            name: "Relay",
            dependencies: [
                "Settings", "Transport", "SRT", "Packets", "Endpoint", "Container", "Bitstream", "Codec", "Machine", "Schedule",
                "EnhanceNetworks", "Enhance", "Telemetry", "Media",
            ],
            swiftSettings: marked),
        .target(
            name: "Measure", dependencies: ["Transport", "Packets", "Endpoint", "Container", "Bitstream", "Codec", "Media"],
            swiftSettings: marked),

        // The same processors without a stream: on files, and in virtual time.
        .target(
            name: "Offline", dependencies: ["Codec", "EnhanceNetworks", "Enhance", "Telemetry", "Media"],
            swiftSettings: marked),
        .target(name: "Simulation", dependencies: ["Schedule", "Telemetry", "Media"]),

        // What `burnish bench` times, and what compares kernels with their scalar references: in no product that relays.
        .target(
            name: "Bench",
            dependencies: [
                "EnhanceNetworks", "Enhance", "Simulation", "Telemetry", "Schedule", "KernelChecks", "Kernels", "Media",
            ],
            swiftSettings: marked),
        .target(name: "KernelChecks", dependencies: ["Kernels", "CKernels", "CKernelChecks", "Media"], swiftSettings: marked),

        // What a stream is made of.
        .target(
            name: "EnhanceNetworks", dependencies: ["Enhance", "CWeights"], exclude: ["Weights"], swiftSettings: marked),
        .target(name: "Enhance", dependencies: ["Kernels", "Media"], swiftSettings: marked),
        .target(name: "Settings", dependencies: ["Schedule", "Media"], swiftSettings: marked),
        // How much of the machine there is, and who uses it.
        .target(name: "Machine", dependencies: ["CAffinity", "Schedule", "Media"], swiftSettings: marked),
        // A stream's two ends, over whichever protocol: each stands in a module of its own, on the same sockets.
        .target(
            name: "Transport", dependencies: ["SRT", "Packets", "Endpoint", "Media"], swiftSettings: marked),
        .target(
            name: "SRT", dependencies: ["Packets", "Endpoint", "CSRT", "CSRTArrival", "Media"], swiftSettings: marked,
            linkerSettings: linkSRT),
        // Calls: ICE, DTLS and SRTP for many peers on one UDP port.
        .target(
            name: "WebRTC", dependencies: ["Packets", "Endpoint", "CDTLS", "CSRTP", "Media"], swiftSettings: marked,
            linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),
        .target(name: "Packets", dependencies: ["Endpoint", "Media"], swiftSettings: marked),
        .target(name: "Endpoint", dependencies: ["Media"]),
        .target(name: "Container", dependencies: ["Bitstream", "Media"], swiftSettings: marked),
        // Files that stand on pictures: images and fonts.
        .target(name: "Overlays", dependencies: ["Codec", "Bitstream", "CFont", "Media"], swiftSettings: marked),
        .target(name: "Codec", dependencies: ["CFFmpeg", "Kernels", "Bitstream", "Media"], swiftSettings: marked),
        .target(name: "Bitstream", dependencies: ["Media"], swiftSettings: marked),
        .target(name: "Telemetry", dependencies: ["Schedule", "Media"], swiftSettings: marked),
        .target(name: "Schedule", dependencies: ["Media"]),
        .target(name: "Kernels", dependencies: ["CKernels", "Media"], swiftSettings: marked),
        .target(name: "Media", swiftSettings: marked),

        // MARK: - C: system libraries and SIMD

        .systemLibrary(
            name: "CFFmpeg", providers: [.apt(["libavformat-dev", "libavcodec-dev", "libswresample-dev", "libswscale-dev"])]),
        .systemLibrary(name: "CSRT", providers: [.apt(["libsrt-openssl-dev"])]),
        .systemLibrary(name: "CQREncode", providers: [.apt(["libqrencode-dev"])]),
        .systemLibrary(name: "CHMAC", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CSRTP", providers: [.apt(["libsrtp2-dev"])]),
        .target(name: "CSRTArrival", cSettings: strictC),
        .target(name: "CDTLS", cSettings: strictC),
        .target(name: "CSandbox", cSettings: strictC, linkerSettings: [.linkedLibrary("seccomp")]),
        .target(name: "CProcess", cSettings: strictC),
        .target(name: "CAffinity", cSettings: strictC),
        .target(
            name: "CFont", cSettings: strictC + [.unsafeFlags(["-isystem", "/usr/include/freetype2"])],
            linkerSettings: [.linkedLibrary("freetype")]),
        .target(name: "CKernels", cSettings: strictC),
        .target(name: "CWeights", cSettings: strictC),
        .target(
            name: "CKernelChecks", dependencies: ["CKernels"], cSettings: strictC + [.headerSearchPath("../CKernels")]),

        // MARK: - Tests, in the order of the modules

        .testTarget(name: "ArchitectureTests"),
        .testTarget(
            name: "CommandTests",
            dependencies: [
                "burnish", "WorkerProtocol", "Settings", "Measure", "Container", "Codec", "Transport", "Packets", "Endpoint",
                "Telemetry",
                "Media", "TestStreams", "TestSupport",
            ]),
        .testTarget(
            name: "WebTests",
            dependencies: [
                "Web", "Control", "QRCodes", "RoomLinks", "ServiceConfiguration", "Endpoint", "WorkerProtocol", "Settings",
                "Telemetry", "Schedule", "Media", "TestSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]),
        .testTarget(
            name: "ControlTests",
            dependencies: [
                "burnish-fake-worker", "Control", "RoomLinks", "ServiceConfiguration", "WorkerProtocol", "Settings",
                "Telemetry", "Schedule",
                "Media", "TestSupport",
                .product(name: "Logging", package: "swift-log"),
            ]),
        .testTarget(name: "ServiceConfigurationTests", dependencies: ["ServiceConfiguration", "Settings", "Endpoint"]),
        .testTarget(
            name: "WorkerTests",
            dependencies: [
                "sandboxed-relay",
                "Worker", "WorkerProtocol", "Relay", "Settings", "Measure", "Transport", "Packets", "Endpoint", "Telemetry",
                "Media",
                "TestStreams", "TestSupport",
            ]),
        .testTarget(name: "WorkerProtocolTests", dependencies: ["WorkerProtocol", "Media", "TestSupport"]),
        .testTarget(
            name: "RelayTests",
            dependencies: [
                "Relay", "Settings", "Measure", "Simulation", "Container", "Bitstream", "Codec", "Transport", "SRT", "Packets",
                "Endpoint",
                "Schedule", "EnhanceNetworks", "Enhance", "Telemetry", "Media", "TestStreams",
            ]),
        .testTarget(
            name: "MeasureTests", dependencies: ["Measure", "Container", "Codec", "Transport", "Packets", "Endpoint", "Media"]),
        .testTarget(
            name: "OfflineTests",
            dependencies: [
                "Offline", "Codec", "EnhanceNetworks", "Enhance", "Telemetry", "Media", "TestStreams", "TestSupport",
            ]),
        .testTarget(
            name: "SimulationTests", dependencies: ["Simulation", "Schedule", "Telemetry", "Media", "TestSupport"]),
        .testTarget(name: "BenchTests", dependencies: ["Bench", "KernelChecks", "Media"]),
        // Apart, because they are built with optimisation, too.
        .testTarget(
            name: "AllocationTests", dependencies: ["EnhanceNetworks", "Enhance", "Schedule", "Media", "TestSupport"]),
        .testTarget(
            name: "EnhanceTests",
            dependencies: ["EnhanceNetworks", "Enhance", "KernelChecks", "Kernels", "Media"],
            resources: [.copy("Golden")]),
        .testTarget(name: "SettingsTests", dependencies: ["Settings", "Schedule", "Media"]),
        .testTarget(name: "MachineTests", dependencies: ["Machine", "Schedule", "Media"]),
        .testTarget(
            name: "TransportTests",
            // The choice of a viewer's layer stands here, beside the links that are simulated.
            dependencies: [
                "Relay", "Transport", "SRT", "Packets", "Endpoint", "CSRTArrival", "Measure", "Media", "TestSupport",
            ]),
        .testTarget(
            name: "WebRTCTests",
            // The worker's calls stand here, beside the peer that makes them.
            dependencies: [
                "Worker", "WorkerProtocol", "Relay", "WebRTC", "Settings", "Transport", "Packets", "Endpoint", "Container",
                "Telemetry", "Schedule", "Media", "TestStreams", "TestSupport",
            ]),
        .testTarget(name: "EndpointTests", dependencies: ["Endpoint"]),
        .testTarget(name: "ContainerTests", dependencies: ["Container", "Bitstream", "Media", "TestSupport"]),
        .testTarget(name: "OverlaysTests", dependencies: ["Overlays", "Codec", "Bitstream", "Media"]),
        .testTarget(name: "CodecTests", dependencies: ["Codec", "Container", "Bitstream", "Media", "TestSupport"]),
        .testTarget(name: "BitstreamTests", dependencies: ["Bitstream", "Media", "TestSupport"]),
        .testTarget(name: "TelemetryTests", dependencies: ["Telemetry", "Schedule", "Media"]),
        .testTarget(name: "ScheduleTests", dependencies: ["Schedule", "Media", "TestSupport"]),
        .testTarget(name: "KernelsTests", dependencies: ["KernelChecks", "Kernels", "CKernels", "Media"]),
        .testTarget(name: "MediaTests", dependencies: ["Media"]),

        // What tests share, and programs that they start.
        .target(
            name: "TestStreams", dependencies: ["Measure", "Container", "Bitstream", "Codec", "Media"],
            path: "Tests/TestStreams"),
        .target(name: "TestSupport", dependencies: ["CDoubleClose"], path: "Tests/TestSupport"),
        .target(name: "CDoubleClose", path: "Tests/CDoubleClose", cSettings: strictC),
        .executableTarget(name: "burnish-fake-worker", dependencies: ["WorkerProtocol", "Media"], path: "Tests/FakeWorker"),
        .executableTarget(
            name: "sandboxed-relay", dependencies: ["Worker", "Relay", "Settings", "Transport", "Endpoint", "Media"],
            path: "Tests/SandboxedRelay"),
        // For tools/check/webrtc.
        .executableTarget(
            name: "webrtc-forward", dependencies: ["WebRTC", "Endpoint", "Media"], path: "Tests/WebRTCForward"),
    ])

if !hasService {
    let targets = ["burnishd", "Web", "Control", "QRCodes", "CQREncode", "WebTests", "ControlTests", "burnish-fake-worker"]
    package.products.removeAll { $0.name == "burnishd" }
    package.targets.removeAll { targets.contains($0.name) }
}

// Some tests, and only what they need: BURNISH_TESTS="ScheduleTests SimulationTests" swift test
if let wanted = Context.environment["BURNISH_TESTS"] {
    var needed: Set<String> = []
    var open = wanted.split(separator: " ").map(String.init)
    while let name = open.popLast() {
        guard let target = package.targets.first(where: { $0.name == name }), needed.insert(name).inserted else { continue }
        for dependency in target.dependencies {
            if case .byNameItem(let name, _) = dependency { open.append(name) }
        }
    }
    package.targets.removeAll { !needed.contains($0.name) }
    package.products = []
}

/// Every Swift target: Swift 6 language mode (the tools version's default), warnings are errors.
let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableExperimentalFeature("Lifetimes"),
]
for target in package.targets where target.type != .system && target.cSettings == nil {
    target.swiftSettings = strict + (target.swiftSettings ?? [])
}
