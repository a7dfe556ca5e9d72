internal import JSON
internal import Payloads
internal import Sends
internal import Telemetry

/// A row of `groups` as lines for a person.
struct GroupOutput {
    private let row: GroupRow

    init(_ row: GroupRow) { self.row = row }

    var text: String {
        var lines = [("state", stateText)]
        if let type = row.attributesType { lines.append(("type", type)) }
        if let newest = row.newestState {
            let content = newest.content.contentState.map { String(decoding: $0.bytes, as: UTF8.self) }
            lines.append(("newest", "\(newest.content.event.rawValue) \(content ?? "without content")"))
            lines.append(("version", "\(newest.version)"))
            lines.append(("send", "\(newest.send), accepted \(timeText(milliseconds: newest.acceptedAt))"))
        } else {
            lines.append(("version", "\(row.version)"))
        }
        lines.append(("updates", "\(row.updateCount) since its start"))
        if let endSeconds = row.endDate {
            lines.append(("ends", timeText(milliseconds: endSeconds * 1_000)))
        }
        if let heldSend = row.heldSend { lines.append(("waiting", heldSend.id)) }
        lines.append(("lanes", lanesText))
        lines.append(("last send", row.lastSendAt == 0 ? "none" : timeText(milliseconds: row.lastSendAt)))
        let width = lines.map(\.0.count).max() ?? 0
        return lines.map { name, value in
            name.padded(to: width + 2) + value
        }.joined(separator: "\n")
    }

    /// The state and its time, which is part of the version of a start or an END. A generation is such a version.
    private var stateText: String {
        if row.endVersion > 0, row.endVersion >= row.generation {
            return "ended \(timeText(milliseconds: SendSequence.milliseconds(of: row.endVersion)))"
        }
        if row.generation > 0 {
            return "runs since \(timeText(milliseconds: SendSequence.milliseconds(of: row.generation)))"
        }
        return "runs; no start was seen, its app began it"
    }

    /// The lanes that get the group's sends.
    private var lanesText: String {
        guard case .only(let lanes) = row.memberLanes else { return "all" }
        return lanes.isEmpty ? "none has members" : lanes.lanes.map(String.init).joined(separator: ", ")
    }

    private func timeText(milliseconds: Int64) -> String { WallTime(milliseconds: milliseconds).rfc3339 }
}
