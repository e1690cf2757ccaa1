// The effects for one type of samples. Include it with SAMPLE and NAME(function) defined.

static inline SAMPLE *NAME(row)(burnish_mask_part part, int y) {
    return (SAMPLE *)((char *)part.samples + y * part.stride);
}

/// The rounded mean of a block.
static inline SAMPLE NAME(mean)(burnish_mask_part part, int x, int y, int width, int height) {
    uint64_t sum = 0;
    for (int row = y; row < y + height; row++) {
        const SAMPLE *from = NAME(row)(part, row) + x;
        uint32_t line = 0;
        for (int i = 0; i < width; i++) line += from[i];
        sum += line;
    }
    const uint64_t count = (uint64_t)width * (uint64_t)height;
    return (SAMPLE)((sum + count / 2) / count);
}

static inline void NAME(set)(burnish_mask_part part, int x, int y, int width, int height, SAMPLE value) {
    for (int row = y; row < y + height; row++) {
        SAMPLE *to = NAME(row)(part, row) + x;
        for (int i = 0; i < width; i++) to[i] = value;
    }
}

void NAME(burnish_mask_fill)(burnish_mask_part part, int value) {
    NAME(set)(part, 0, 0, part.width, part.height, (SAMPLE)value);
}

void NAME(burnish_mask_pixelate)(burnish_mask_part part, int block) {
    const int columns = burnish_mask_blocks(part.width, block), rows = burnish_mask_blocks(part.height, block);
    for (int r = 0; r < rows; r++) {
        const int y = r * block, height = span(r, rows, block, part.height);
        for (int c = 0; c < columns; c++) {
            const int x = c * block, width = span(c, columns, block, part.width);
            NAME(set)(part, x, y, width, height, NAME(mean)(part, x, y, width, height));
        }
    }
}

/// Writes a row from the values in the middles of its blocks, which are times ONE.
static inline void NAME(stretch)(SAMPLE *row, int width, const int32_t *line, int columns, int block) {
    int x = 0;
    for (int c = 0; c < columns; c++) {
        const int from = middle(c, columns, block, width);
        const int last = c + 1 == columns;
        const int to = last ? 2 * width : middle(c + 1, columns, block, width);
        const SAMPLE own = (SAMPLE)((line[c] + ONE / 2) / ONE);
        if (c == 0) {
            for (; 2 * x < from; x++) row[x] = own;
        }
        if (last) {
            for (; x < width; x++) row[x] = own;
            return;
        }
        // Twice the step, because places are in halves of samples.
        const int32_t step = (line[c + 1] - line[c]) * (2 * ONE) / (to - from);
        int32_t value = line[c] * ONE + step / 2 * (2 * x - from) + ONE * ONE / 2;
        for (; 2 * x < to; x++, value += step) row[x] = (SAMPLE)((uint32_t)value / (ONE * ONE));
    }
}

void NAME(burnish_mask_blur)(burnish_mask_part part, int block, uint16_t *means, int32_t *line) {
    const int columns = burnish_mask_blocks(part.width, block), rows = burnish_mask_blocks(part.height, block);
    for (int r = 0; r < rows; r++) {
        for (int c = 0; c < columns; c++) {
            means[r * columns + c] = NAME(mean)(part, c * block, r * block, span(c, columns, block, part.width),
                                                span(r, rows, block, part.height));
        }
    }
    int above = 0;
    for (int y = 0; y < part.height; y++) {
        while (above + 1 < rows && 2 * y >= middle(above + 1, rows, block, part.height)) above++;
        const int below = above + 1 < rows ? above + 1 : above;
        const int from = middle(above, rows, block, part.height), to = middle(below, rows, block, part.height);
        const int way = to > from && 2 * y > from ? ((2 * y - from) * FINE + (to - from) / 2) / (to - from) : 0;
        const uint16_t *top = means + above * columns, *bottom = means + below * columns;
        for (int c = 0; c < columns; c++) line[c] = (top[c] * (FINE - way) + bottom[c] * way) / (FINE / ONE);
        NAME(stretch)(NAME(row)(part, y), part.width, line, columns, block);
    }
}
