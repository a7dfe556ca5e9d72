/// The limit of the names that a send to activities copies. Only a lane knows the owner of an activity, so every lane
/// gets all names, in one transaction of the planner.
package enum NamedActivityCopies {
    /// The most bytes of names in all lanes together. One transaction of the planner stores as much.
    package static let bytesMax = 24 << 20
    /// The most activities of one send whose state the lanes keep for tokens that come later. Each lane that does not
    /// know an activity keeps a copy of the state.
    package static let keptActivitiesMax = 10
    /// The quotation marks and the comma of a name.
    private static let separatorBytes = 3

    /// Returns the reason why the send names too many activities. Nil if its copies are within the limit.
    package static func problem(of audience: Audience, lanes: Int) -> String? {
        guard case .activities(let names) = audience else { return nil }
        let bytes = names.reduce(0) { $0 + $1.utf8.count + separatorBytes }
        let bytesPerLaneMax = bytesMax / lanes
        if bytes <= bytesPerLaneMax { return nil }
        let requests = (bytes + bytesPerLaneMax - 1) / bytesPerLaneMax
        return
            "names activities of \(bytes) bytes, and each of the \(lanes) lanes gets all of them; at most \(bytesPerLaneMax) bytes are allowed, so send at least \(requests) requests with fewer activities each"
    }
}
