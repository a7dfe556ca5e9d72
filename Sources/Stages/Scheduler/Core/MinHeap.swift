/// A binary heap whose smallest element is first.
struct MinHeap<Element: Comparable> {
    private var elements: [Element] = []

    var count: Int { elements.count }
    var isEmpty: Bool { elements.isEmpty }
    var first: Element? { elements.first }

    mutating func push(_ element: Element) {
        elements.append(element)
        var index = elements.count - 1
        while index > 0 {
            let parent = (index - 1) / 2
            guard elements[index] < elements[parent] else { return }
            elements.swapAt(index, parent)
            index = parent
        }
    }

    mutating func pop() -> Element? {
        guard let smallest = elements.first, let last = elements.popLast() else { return nil }
        if elements.isEmpty { return smallest }
        elements[0] = last
        var index = 0
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2] where child < elements.count {
                if elements[child] < elements[least] { least = child }
            }
            if least == index { return smallest }
            elements.swapAt(index, least)
            index = least
        }
    }

    /// Keeps only the smallest elements.
    ///
    /// - Returns: The largest element that stays.
    mutating func keepSmallest(_ count: Int) -> Element? {
        elements.sort()
        elements.removeSubrange(min(count, elements.count)...)
        return elements.last
    }
}
