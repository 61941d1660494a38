mod gain;
