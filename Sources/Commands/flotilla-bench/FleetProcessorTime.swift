internal import IngestTesting
internal import InstallationTesting
internal import ProcessTesting
internal import SenderTesting

/// A measurement of the processor time of each process of a fleet. It begins when the value is made.
struct FleetProcessorTime {
    /// The name of the simulated APNs, so that a reader can leave it out of the fleet's sum.
    static let simulatorName = "simulator"

    private let processes: [(name: String, processID: Int32, secondsBefore: Double)]

    init(of fleet: Fleet) {
        var namedProcesses = fleet.members.map {
            (name: $0.stage.rawValue, processID: $0.process.processID)
        }
        // In a running cluster that `--bootstrap` names, the broker is not measured.
        if let broker = fleet.broker {
            namedProcesses.append((name: "broker", processID: broker.processID))
        }
        namedProcesses.append((name: Self.simulatorName, processID: fleet.simulator.processID))
        processes = namedProcesses.map {
            (name: $0.name, processID: $0.processID, secondsBefore: processorSeconds(of: $0.processID))
        }
    }

    /// The processor seconds of each process since this value was made.
    var seconds: [(name: String, seconds: Double)] {
        processes.map { (name: $0.name, seconds: processorSeconds(of: $0.processID) - $0.secondsBefore) }
    }
}
