// swift-tools-version: 6.2
import PackageDescription

// What the fusion network sees. Only training needs it, so it is a package of its own.
let package = Package(
    name: "fusion-planes",
    dependencies: [.package(name: "burnish", path: "../../../..")],
    targets: [
        .executableTarget(
            name: "fusion-planes",
            dependencies: [
                .product(name: "Enhance", package: "burnish"), .product(name: "EnhanceNetworks", package: "burnish"),
            ],
            path: ".",
            swiftSettings: [
                .treatAllWarnings(as: .error),
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("MemberImportVisibility"),
                .enableExperimentalFeature("Lifetimes"),
                .strictMemorySafety(),
            ])
    ])
