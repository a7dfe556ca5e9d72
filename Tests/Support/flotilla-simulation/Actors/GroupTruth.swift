import Lifecycle

/// The accepted sends of one group, in their order. The truth knows what a caller knows, and nothing of the fleet.
///
/// A generation is named by the number of the start that opened it, and a state by the number of its send.
struct GroupTruth {
    enum Event: String {
        case start
        case update
        case end
    }

    struct AcceptedSend {
        let number: Int
        let event: Event
        let acceptedAt: Instant
        /// The send's generation. A start of an open group opens none.
        let generation: Int
    }

    private(set) var sends: [AcceptedSend] = []

    /// Whether the newest send leaves the group open.
    var isOpen: Bool { sends.last.map { $0.event != .end } ?? false }
    var newest: AcceptedSend? { sends.last }

    /// Adds a send. The callers send only starts to a group that is not open.
    mutating func accept(_ number: Int, _ event: Event, at time: Instant) {
        let generation: Int
        if let newest, isOpen {
            generation = newest.generation
        } else {
            precondition(event == .start, "a group that is not open gets only starts")
            generation = number
        }
        sends.append(AcceptedSend(number: number, event: event, acceptedAt: time, generation: generation))
    }

    func generation(ofState number: Int) -> Int? { sends.first { $0.number == number }?.generation }

    func start(ofGeneration generation: Int) -> AcceptedSend? { sends.first { $0.number == generation } }

    func hasEnded(generation: Int) -> Bool {
        sends.contains { $0.generation == generation && $0.event == .end }
    }

    /// Returns the newest send of a generation that was accepted at or before a time and that every running activity
    /// must show. A start of an open group is for phones that show nothing yet.
    func newest(inGeneration generation: Int, until time: Instant) -> AcceptedSend? {
        sends.last {
            $0.generation == generation && $0.acceptedAt <= time
                && ($0.event != .start || $0.number == generation)
        }
    }
}
