internal import Glibc

/// The slots that processes have left in a data directory, for commands that maintain their files.
extension ProcessSlot {
    /// An existing slot. Either this value holds it from now on, or a running process does.
    package enum ExistingSlot: Sendable {
        case free(ProcessSlot)
        case held(path: String)
    }

    /// Takes all slots of a data directory that no running process holds, and names the others.
    package static func allExisting(under directory: String) throws(SlotError) -> [ExistingSlot] {
        var slots: [ExistingSlot] = []
        for number in 0..<slotsMax {
            let path = "\(directory)/slot-\(number)"
            guard unsafe access(path, F_OK) == 0 else { continue }
            if let slot = try acquire(path: path, number: number, randomByte: { .random(in: .min ... .max) })
            {
                slots.append(.free(slot))
            } else {
                slots.append(.held(path: path))
            }
        }
        return slots
    }
}
