import Lifecycle

/// The accepted sends of one group, in their order. The truth knows what a caller knows, and nothing of the fleet.
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
    }

    private(set) var sends: [AcceptedSend] = []

    /// Whether the newest send leaves the group open.
    var isOpen: Bool { sends.last.map { $0.event != .end } ?? false }
    var newest: AcceptedSend? { sends.last }

    mutating func accept(_ send: AcceptedSend) { sends.append(send) }

    /// Returns the number of the start that opened the generation of a state, which names the generation.
    func generation(ofState number: Int) -> Int? {
        sends.last { $0.event == .start && $0.number <= number }?.number
    }

    func start(ofGeneration generation: Int) -> AcceptedSend? { sends.first { $0.number == generation } }

    /// Returns the newest send of a generation that was accepted until a time.
    func newest(inGeneration generation: Int, until time: Instant) -> AcceptedSend? {
        sends.last {
            $0.acceptedAt <= time && $0.number >= generation
                && self.generation(ofState: $0.number) == generation
        }
    }
}
