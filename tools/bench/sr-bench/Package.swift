// swift-tools-version: 6.2
import PackageDescription

// The speed of super-resolution for a machine on which Burnish cannot be installed: the libraries Enhance and Bench, which
// need no FFmpeg and no SRT. Built with --static-swift-stdlib it needs nothing but the C library.
let package = Package(
    name: "sr-bench",
    dependencies: [.package(name: "burnish", path: "../../..")],
    targets: [
        .target(name: "CAffinity"),
        .executableTarget(
            name: "sr-bench",
            dependencies: [
                "CAffinity", .product(name: "Enhance", package: "burnish"),
                .product(name: "EnhanceNetworks", package: "burnish"), .product(name: "Bench", package: "burnish"),
            ],
            swiftSettings: [.treatAllWarnings(as: .error), .strictMemorySafety()]),
    ])
