import Foundation
import ProcessTesting
import Testing

/// Requirements of containers that can be checked without a container engine, in the text of `docker-compose.yml` and of
/// the Dockerfile.
struct ContainerTests {
    /// Returns the services of Compose that run our image. Services are separated by empty lines, and ours merge the
    /// anchor `flotilla` or `image`.
    private func ownServices() throws -> [String] {
        try services().filter { $0.contains("    <<: *flotilla") || $0.contains("    <<: *image") }
    }

    private func services() throws -> [String] {
        try Repository.text(of: "docker-compose.yml").components(separatedBy: "\n\n")
    }

    /// The full Foundation has tables of every language, which would be more than half of the image.
    @Test func `the program links only FoundationEssentials`() async throws {
        let libraries = try ChildProcess("ldd", arguments: [builtProductPath(named: "flotilla")])
        #expect(try await libraries.exitStatus() == 0)
        let named = libraries.output.split(separator: "\n").filter { $0.contains("Foundation") }
        #expect(named.allSatisfy { $0.contains("libFoundationEssentials.so") }, "\(named)")
    }

    /// A container's root file system is read-only, and its user has no home directory.
    @Test func `every stage of Compose keeps its data in its volume`() throws {
        let lines = try Repository.text(of: "docker-compose.yml").split(separator: "\n")
        let stageCommands = lines.filter { $0.contains("flotilla run ") || $0.contains("command: [run, ") }
        // Gateway, ingest, scheduler, fan-out, sender, insight and webhooks.
        #expect(stageCommands.count == 7)
        for command in stageCommands {
            #expect(command.contains("/var/lib/flotilla") && command.contains("--data"), "\(command)")
        }
    }

    @Test func `only one service of Compose builds the image, and the build needs no tests`() throws {
        let compose = try Repository.text(of: "docker-compose.yml")
        #expect(compose.matches(of: /\n +build:/).count == 1)
        let dockerfile = try Repository.text(of: "deploy/Dockerfile")
        #expect(!dockerfile.contains("COPY Tests") && dockerfile.contains("--mount=type=cache"))
        #expect(try Repository.text(of: ".dockerignore").split(separator: "\n").contains("Tests"))
    }

    /// The service `try-it` prints commands that a reader pastes.
    @Test func `the service try-it waits for every stage, and its commands use a new group each time`() throws
    {
        let tryIt = try #require(try services().first { $0.contains("\n  try-it:") })
        let stages = [
            "gateway", "ingest", "scheduler", "fan-out", "sender", "insight", "webhooks", "apns-simulator",
        ]
        for stage in stages {
            #expect(tryIt.contains("\(stage): { condition: service_healthy }"), "\(stage)")
        }
        #expect(try Repository.text(of: "deploy/compose/try-it.sh").contains("group=match-$(("))
    }

    /// A volume gets the owner of the image's directory at its path. Without such a directory, root owns it.
    @Test func `every volume of our containers is mounted on a directory of the image`() throws {
        // The line of the Dockerfile that makes the directories.
        let installLine = try Repository.text(of: "deploy/Dockerfile").split(separator: "\n").first {
            $0.contains("install -d")
        }
        let directories = Set(try #require(installLine).split(separator: " ").filter { $0.hasPrefix("/") })
        let services = try ownServices()
        // The set-up, seven stages, the simulated APNs, and try-it.
        #expect(services.count == 10)
        for service in services {
            for volume in service.matches(of: /"[a-z-]+:(\/[a-z\/]+)(:ro)?"/) {
                #expect(directories.contains(volume.1), "\(volume.0)")
            }
        }
    }
}
