internal import IngestTesting
internal import InstallationTesting
internal import ProcessTesting
internal import SenderTesting

/// A measurement of the processor time of each process of a fleet. It begins when the value is made.
struct FleetProcessorTime {
    static let simulatorName = "simulator"

    private let processes: [(name: String, processID: Int32, secondsBefore: Double)]

    init(of fleet: Fleet) {
        var namedProcesses = fleet.members.map { ($0.stage.rawValue, $0.process.processID) }
        if let broker = fleet.broker { namedProcesses.append(("broker", broker.processID)) }
        namedProcesses.append((Self.simulatorName, fleet.simulator.processID))
        processes = namedProcesses.map {
            (name: $0.0, processID: $0.1, secondsBefore: processorSeconds(of: $0.1))
        }
    }

    /// The processor seconds since this value was made.
    var seconds: [(name: String, seconds: Double)] {
        processes.map { (name: $0.name, seconds: processorSeconds(of: $0.processID) - $0.secondsBefore) }
    }
}
