import Foundation
import LiveActivity

/// A send, as it is said to one user of a group.
struct Event {
    let send: String
    let kind: PushEvent
    let state: String?
    /// Of a start: it opens a life, the group's or the user's own.
    var opens = false
    /// Whether it is meant for the user; what only opens the group's life is not.
    var isFor = false
    var namesUser = false
    /// Of a start: the life that it is for, and one that it may open in the lane.
    var generation: Int64
    let reopens: Int64?
    /// It names activities: whose they are, only lanes know.
    var isByName = false
    /// Records of the registry that the user's lane had read when it was planned.
    var registry = 0

    init(_ expansion: Expansion) {
        send = expansion.send
        kind = expansion.content.event
        generation = expansion.generation
        reopens = expansion.reopens
        state = expansion.content.contentState.flatMap { raw in
            (try? JSONSerialization.jsonObject(with: Data(raw.bytes)) as? [String: Any])?["goals"].map {
                "\($0)"
            }
        }
    }
}

/// What one user of a group was told.
struct Truth {
    /// Sends and their states, the newest last.
    private(set) var said: [(send: String, state: String?, isStart: Bool)] = []
    private(set) var hasEnded = false
    private(set) var ends = 0
    private(set) var isKnown = false
    /// The send that opened the life that is; nil before the first.
    private(set) var life: String?
    /// Of each start: the life that it is for.
    private(set) var lives: [String: String] = [:]
    /// As lanes tell the life that is from others: it has one start, whichever of these opened it.
    private(set) var generations: Set<Int64> = []
    /// How much had been said at the newest end.
    private var saidAtEnd = 0

    mutating func take(_ event: Event) {
        switch event.kind {
        case .start:
            // Whom an end by an activity's name has taken out, a start by the user's name starts again.
            if event.opens || event.namesUser && hasEnded {
                hasEnded = false
                life = event.send
                generations = event.opens ? [event.generation] : []
                say(event, isStart: true)
            }
            if let reopens = event.reopens { generations.insert(reopens) }
            lives[event.send] = life
        case .update: if !hasEnded { say(event, isStart: false) }
        case .end:
            hasEnded = true
            ends += 1
            isKnown = true
            saidAtEnd = said.count
        }
    }

    private mutating func say(_ event: Event, isStart: Bool) {
        said.append((event.send, event.state, isStart))
        isKnown = true
    }

    /// What a start may say that came behind the first so many.
    func states(since count: Int, without cancelled: Set<String>) -> Set<String?> {
        let newest = said.prefix(count).lastIndex { !Self.isTakenBack($0.send, $0.state, in: cancelled) } ?? 0
        return Set(said[newest...].map(\.state))
    }

    /// What is right to show: of what was taken back, phones may show it already, or what was before. A lane keeps
    /// one state behind the newest: where two were taken back, who comes late may be told nothing.
    func states(without cancelled: Set<String>) -> Set<String?> {
        var states: Set<String?> = []
        for (send, state, _) in said.reversed() {
            if states.count > 1 { states.insert(nil) }
            states.insert(state)
            if !Self.isTakenBack(send, state, in: cancelled) { return states }
        }
        return states.union([nil])
    }

    /// What brings an earlier state back is taken back with the send that said that first: a state is its send's number.
    private static func isTakenBack(_ send: String, _ state: String?, in cancelled: Set<String>) -> Bool {
        if cancelled.contains(send) { return true }
        guard let state, send.hasSuffix(".undo") else { return false }
        return cancelled.contains("s\(state)")
    }

    /// The same of an activity that its app began by itself. What a start opens with it may be told, and need not be;
    /// what was said before stands then.
    func ownStates(without cancelled: Set<String>) -> Set<String?> {
        var states: Set<String?> = []
        var takenBack: Set<String?> = []
        for (send, state, isStart) in said[saidAtEnd...].reversed() {
            if takenBack.count > 1 { states.insert(nil) }
            states.insert(state)
            if isStart { continue }
            if !Self.isTakenBack(send, state, in: cancelled) { return states }
            takenBack.insert(state)
        }
        return states.union([nil])
    }
}
