import HTTP2
import Simulation

@testable import APNsSimulator

/// Injects no fault into half of the requests, and at most one random fault of each kind into the other half.
final class RandomFaults: FaultInjector, Sendable {
    func fault(for request: RequestFacts) -> InjectedFault {
        // The same request gets the same faults in each run. The prime only spreads the seeds.
        var random = SeededGenerator(seed: request.connection &* 7_919 &+ request.requestOfConnection)
        var fault = InjectedFault()
        if random.number(below: 2) == 0 { return fault }
        fault.requestFault = requestFault(from: &random)
        fault.connectionFault = connectionFault(from: &random)
        fault.delayMilliseconds = random.number(below: 4) == 0 ? random.number(below: 5) : 0
        return fault
    }

    private func requestFault(from random: inout SeededGenerator) -> InjectedFault.RequestFault? {
        let status = random.number(below: 700)
        switch random.number(below: 5) {
        case 0: return nil
        case 1: return .silence(processed: random.number(below: 2) == 0)
        case 2:
            return .reset(
                HTTP2ErrorCode(rawValue: UInt32(random.number(below: 20))),
                processed: random.number(below: 2) == 0)
        case 3:
            return .answer(
                status: status, reason: "Reason\(random.number(below: 3))\"\n",
                timestamp: random.number(below: 2) == 0 ? nil : Int64(status),
                retryAfterSeconds: random.number(below: 9))
        default: return .answerBody(status: status, body: random.bytes(count: 0...300))
        }
    }

    private func connectionFault(from random: inout SeededGenerator) -> InjectedFault.ConnectionFault? {
        switch random.number(below: 8) {
        case 0: return .settings(streamsMax: random.number(below: 20))
        case 1: return .stall(milliseconds: random.number(below: 3))
        case 2:
            return .goaway(
                HTTP2ErrorCode(rawValue: UInt32(random.number(below: 20))),
                streamsBack: random.number(below: 12),
                reason: random.number(below: 2) == 0 ? nil : "Why", thenClose: random.number(below: 2) == 0)
        case 3: return .starveWindows
        case 4: return .resetAfter(bytes: random.number(below: 100))
        case 5: return .close
        default: return nil
        }
    }

    func faults(forOpenedConnection number: Int) -> [InjectedFault.ConnectionFault] { [] }
}
