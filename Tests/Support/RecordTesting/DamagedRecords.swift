internal import Simulation

/// Calls `body` with damaged copies of the records. In each copy a few bytes are changed, removed or inserted.
package func forEachDamagedCopy(of records: [[UInt8]], seed: Int, body: ([UInt8]) -> Void) {
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<5_000 {
        var bytes = records.randomElement(using: &generator)!
        for _ in 0..<Int.random(in: 1...4, using: &generator) where !bytes.isEmpty {
            let index = bytes.indices.randomElement(using: &generator)!
            switch Int.random(in: 0...2, using: &generator) {
            case 0: bytes[index] = .random(in: 0...255, using: &generator)
            case 1: bytes.remove(at: index)
            default: bytes.insert(bytes.randomElement(using: &generator)!, at: index)
            }
        }
        body(bytes)
    }
}
