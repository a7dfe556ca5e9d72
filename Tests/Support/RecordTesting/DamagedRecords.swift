internal import Simulation

/// Calls `body` with 5,000 damaged copies of the records. In each copy one to four bytes are changed, removed or
/// inserted.
package func forEachDamagedCopy(of records: [[UInt8]], seed: Int, body: ([UInt8]) -> Void) {
    let copyCount = 5_000
    let changesPerCopy = 1...4
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<copyCount {
        var bytes = records.randomElement(using: &generator)!
        for _ in 0..<Int.random(in: changesPerCopy, using: &generator) where !bytes.isEmpty {
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
