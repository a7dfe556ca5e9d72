internal import Foundation
internal import InstallationTesting
internal import KafkaTesting
internal import ProcessTesting

/// The long form of the test of a cluster whose nodes die: on a real cluster with commands that kill and start its nodes,
/// or on the embedded broker, which imitates the absence of nodes.
enum ClusterProof {
    /// The cluster of a run, and the embedded broker that imitates it.
    private struct Cluster {
        let brokers: [String]
        let nodes: ClusterKillTest.Nodes
        let embedded: TestCluster?
    }

    static func run(arguments: [String]) throws {
        var reader = OptionReader(arguments)
        let brokers = try reader.removeBrokers()
        let kill = try reader.removeText(named: "--kill")
        let start = try reader.removeText(named: "--start")
        var plan = ClusterKillTest.Plan()
        plan.seed = UInt64.random(in: 0...999_999)
        while let (name, number) = try reader.nextNumberAboveZero() {
            switch name {
            case "--phones": plan.phones = number
            case "--kills": plan.kills = number
            case "--nodes": plan.nodeCount = number
            case "--each": plan.processesPerStage = number
            case "--seed": plan.seed = UInt64(number)
            default: throw BenchmarkFailure.unknownOption(name)
            }
        }
        plan.report = { line in
            print("cluster: \(line)")
            fflush(nil)
        }
        let cluster = try makeCluster(of: plan.nodeCount, brokers: brokers, kill: kill, start: start)
        let directory = try BenchmarkDirectory()
        plan.report(
            "seed \(plan.seed), \(plan.kills) deaths, \(plan.processesPerStage) processes of each stage, \(plan.phones) phones"
        )
        let finalPlan = plan
        try directory.runProof { path in
            let result = try runBlocking {
                try await ClusterKillTest(
                    plan: finalPlan, nodes: cluster.nodes, programs: FleetBenchmark.programsDirectory,
                    brokers: cluster.brokers, directory: path
                ).run()
            }
            print(result.summary)
            if !result.faults.isEmpty { throw BenchmarkFailure(result.faults.joined(separator: "\n")) }
        }
        print("no process ended, no phone was behind for too long, and nothing was lost or duplicated")
    }

    private static func makeCluster(
        of nodeCount: Int, brokers: [String]?, kill: String?, start: String?
    ) throws -> Cluster {
        switch (brokers, kill, start) {
        case (let brokers?, let kill?, let start?):
            return Cluster(
                brokers: brokers,
                nodes: ClusterKillTest.Nodes(
                    kill: { try await runCommand(kill, forNode: $0) },
                    start: { try await runCommand(start, forNode: $0) }),
                embedded: nil)
        case (nil, nil, nil):
            let outages = NodeOutages(nodeCount: nodeCount)
            let cluster = try TestCluster(injecting: outages)
            return Cluster(
                brokers: cluster.brokers,
                nodes: ClusterKillTest.Nodes(
                    kill: { outages.kill(node: $0 - 1) }, start: { outages.start(node: $0 - 1) }),
                embedded: cluster)
        default:
            throw BenchmarkFailure(
                "--bootstrap, --kill and --start belong together; in the commands, {node} is the number of a node from 1"
            )
        }
    }

    /// The limit for one command. A node that starts on a busy machine may need minutes.
    private static let commandSecondsMax = 300.0

    /// Runs a command of the operator in a shell.
    private static func runCommand(_ command: String, forNode node: Int) async throws {
        let text = command.replacingOccurrences(of: "{node}", with: "\(node)")
        let process = try ChildProcess("/bin/sh", arguments: ["-c", text])
        let status = try await process.exitStatus(seconds: commandSecondsMax)
        guard status == 0 else { throw BenchmarkFailure("\(text) ended with \(status): \(process.errors)") }
    }
}
