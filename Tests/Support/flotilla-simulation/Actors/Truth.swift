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
        /// The number of the start that opened the send's generation. A start of an open group opens none.
        let generation: Int
    }

    private(set) var sends: [AcceptedSend] = []

    /// Whether the newest send leaves the group open.
    var isOpen: Bool { sends.last.map { $0.event != .end } ?? false }
    var newest: AcceptedSend? { sends.last }

    mutating func accept(_ number: Int, _ event: Event, at time: Instant) {
        let generation = isOpen ? sends.last?.generation ?? number : number
        sends.append(AcceptedSend(number: number, event: event, acceptedAt: time, generation: generation))
    }

    /// Returns the number of the start that opened the generation of a state.
    func generation(ofState number: Int) -> Int? { sends.first { $0.number == number }?.generation }

    func start(ofGeneration generation: Int) -> AcceptedSend? { sends.first { $0.number == generation } }

    func hasEnded(generation: Int) -> Bool {
        sends.contains { $0.generation == generation && $0.event == .end }
    }

    /// Returns the newest send of a generation that was accepted until a time and that every running activity must show.
    /// A start of an open group is for phones that show nothing yet.
    func newest(inGeneration generation: Int, until time: Instant) -> AcceptedSend? {
        sends.last {
            $0.generation == generation && $0.acceptedAt <= time
                && ($0.event != .start || $0.number == generation)
        }
    }
}
