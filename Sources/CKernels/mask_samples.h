// The effects for one type of samples. Include it with SAMPLE and NAME(function) defined.

static inline SAMPLE *NAME(row)(burnish_mask_part part, int y) {
    return (SAMPLE *)((char *)part.samples + y * part.stride);
}

/// The sums of some rows, for each column.
static void NAME(sum)(uint32_t *sums, burnish_mask_part part, int y, int height) {
    memset(sums, 0, (size_t)part.width * sizeof *sums);
    for (int row = y; row < y + height; row++) {
        const SAMPLE *from = NAME(row)(part, row);
        for (int x = 0; x < part.width; x++) sums[x] += from[x];
    }
}

void NAME(burnish_mask_fill)(burnish_mask_part part, int value) {
    for (int y = 0; y < part.height; y++) {
        SAMPLE *to = NAME(row)(part, y);
        for (int x = 0; x < part.width; x++) to[x] = (SAMPLE)value;
    }
}

void NAME(burnish_mask_pixelate)(burnish_mask_part part, int block, burnish_mask_memory memory) {
    const int columns = blocks(part.width, block), rows = blocks(part.height, block);
    for (int r = 0; r < rows; r++) {
        const int y = r * block, height = span(r, rows, block, part.height);
        NAME(sum)(memory.sums, part, y, height);
        SAMPLE *first = NAME(row)(part, y);
        for (int c = 0; c < columns; c++) {
            const int x = c * block, width = span(c, columns, block, part.width);
            const SAMPLE value = (SAMPLE)mean(memory.sums + x, width, height);
            for (int i = x; i < x + width; i++) first[i] = value;
        }
        for (int row = y + 1; row < y + height; row++) {
            memcpy(NAME(row)(part, row), first, (size_t)part.width * sizeof *first);
        }
    }
}

void NAME(burnish_mask_blur)(burnish_mask_part part, int block, burnish_mask_memory memory) {
    const int rows = blocks(part.height, block);
    const int32_t round = 1 << (LINE_BITS + WAY_BITS - 1);
    int32_t *above = memory.lines, *below = memory.lines + part.width;
    int y = 0;
    // Rows are written up to the middle of a block whose sums have been taken.
    for (int r = 0; r <= rows; r++) {
        if (r < rows) {
            NAME(sum)(memory.sums, part, r * block, span(r, rows, block, part.height));
            stretch(below, memory.sums, part.width, span(r, rows, block, part.height), block);
        }
        const int32_t *top = r == 0 ? below : above, *bottom = r == rows ? above : below;
        const int from = middle(r == 0 ? 0 : r - 1, rows, block, part.height);
        const int to = r == rows ? 2 * part.height : middle(r, rows, block, part.height);
        for (; 2 * y < to; y++) {
            const int32_t way = r == 0 || r == rows
                                    ? 0
                                    : ((2 * y - from) * (1 << WAY_BITS) + (to - from) / 2) / (to - from);
            SAMPLE *row = NAME(row)(part, y);
            for (int x = 0; x < part.width; x++) {
                row[x] = (SAMPLE)((top[x] * ((1 << WAY_BITS) - way) + bottom[x] * way + round) >>
                                  (LINE_BITS + WAY_BITS));
            }
        }
        int32_t *spare = above;
        above = below;
        below = spare;
    }
}
