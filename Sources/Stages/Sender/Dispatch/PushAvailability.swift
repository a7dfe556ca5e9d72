package import APNs

/// Whether the connections take pushes of a sheet's app.
package enum PushAvailability: Sendable, Hashable {
    /// The connections take this number of pushes now. It may be 0.
    case open(capacity: Int)
    /// Like `open`, but the first connection is not open yet, and no attempt has failed.
    case connecting(capacity: Int)
    /// The app has no key here or is not in the catalog. Its jobs wait in a tier.
    case closed(reason: String)
    /// The sheet cannot be turned into a request.
    case faulty(code: String)
}

/// Returns how many pushes of a sheet's app the connections take now.
package typealias AvailabilityCheck = (Sheet, PushConnections) -> PushAvailability

/// The availability that is left in a step of the plan: the pushes that were ordered in the step are subtracted.
enum AvailabilityLeft {
    case open(capacity: Int)
    case closed(reason: String)
    case faulty(code: String)
}

extension Sheet {
    /// Returns how many pushes of the sheet the connections still take in this step. They are asked once in each step
    /// for the app's capacity, and once for each sheet whether it can be pushed at all.
    func availabilityLeftThisStep(
        of connections: PushConnections, by availability: AvailabilityCheck
    ) -> AvailabilityLeft {
        let knownCapacity = app.capacity[connections]
        if let knownCapacity {
            let needsNoAnswer = isSendable || knownCapacity <= 0
            if needsNoAnswer { return .open(capacity: knownCapacity) }
        }
        // If the capacity is known, the answer only shows whether this sheet can be pushed. The capacity in the answer
        // does not count, because the connections do not know yet of the pushes that were ordered in this step.
        switch availability(self, connections) {
        case .open(let capacity), .connecting(let capacity):
            isSendable = true
            let capacityInStep = knownCapacity ?? capacity
            app.capacity[connections] = capacityInStep
            return .open(capacity: capacityInStep)
        case .closed(let reason): return .closed(reason: reason)
        case .faulty(let code): return .faulty(code: code)
        }
    }
}
