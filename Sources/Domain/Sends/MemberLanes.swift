internal import Identifiers
internal import JSON
internal import RecordFormat

/// The lanes that get the sends to a group, because they have members of it.
package enum MemberLanes: Sendable, Hashable {
    /// Every lane: the group was started for an audience that may have recipients anywhere, or its row is from a
    /// version that did not know the lanes.
    case every
    case only(LaneSet)

    package static let none = MemberLanes.only(LaneSet())

    package mutating func insert(_ lane: Int) {
        guard case .only(var lanes) = self else { return }
        lanes.insert(lane)
        self = .only(lanes)
    }

    package func contains(_ lane: Int) -> Bool {
        switch self {
        case .every: true
        case .only(let lanes): lanes.contains(lane)
        }
    }

    /// - Parameter laneCount: the number of all lanes.
    package func count(of laneCount: Int) -> Int {
        switch self {
        case .every: laneCount
        case .only(let lanes): lanes.count
        }
    }

    /// - Parameter laneCount: the number of all lanes.
    package func lanes(of laneCount: Int) -> [Int] {
        switch self {
        case .every: Array(0..<laneCount)
        case .only(let lanes): lanes.lanes
        }
    }
}

extension JSONWriter {
    /// Writes the field `lanes`. A record without it is for every lane.
    mutating func field(_ lanes: MemberLanes) {
        if case .only(let lanes) = lanes { field("lanes", Hex.text(of: lanes.bytes)) }
    }
}

extension JSONObject {
    func memberLanes() -> MemberLanes {
        self["lanes"].optional.map { .only(LaneSet(bytes: $0.hex())) } ?? .every
    }
}
